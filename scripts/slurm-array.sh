#!/usr/bin/env bash
# Runs a campaign as a Slurm job array, and joins the parts; an example to copy.
#   sbatch --array=1-20 scripts/slurm-array.sh FILE DIR        runs part i of 20 into DIR/part-i
#   towtank merge DIR/part-* --out DIR/whole                   joins them, once all jobs have ended
# A job that was killed is submitted again as it is: finished runs are kept.
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
set -euo pipefail
scenario=${1:?the scenario file}
dir=${2:?the directory of the parts}
part=${SLURM_ARRAY_TASK_ID:?submit it with --array=1-N}
parts=${SLURM_ARRAY_TASK_COUNT:?submit it with --array=1-N}
exec towtank run "$scenario" --shard "$part/$parts" --out "$dir/part-$part" --jobs "${SLURM_CPUS_PER_TASK:-1}" --quiet
