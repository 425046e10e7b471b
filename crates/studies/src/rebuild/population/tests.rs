//! Tests of defaults, of files, and of each refusal with its hint.

use std::sync::Arc;

use towtank_scenario::{Document, Source};

use super::*;
use towtank_study::testing::Folder;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Scenario {
    #[serde(default)]
    population: PopulationSpec,
}

fn folder() -> Folder {
    let dump = br#"{"pg_ready":true,"pg_map":{"pg_stats":[
        {"pgid":"1.0","state":"active+clean","stat_sum":{"num_bytes":4096,"num_objects":4},"up":[0],"acting":[0]},
        {"pgid":"1.1","state":"active+clean","stat_sum":{"num_bytes":0,"num_objects":0},"up":[0],"acting":[0]},
        {"pgid":"1.2","state":"active+clean","stat_sum":{"num_bytes":10,"num_objects":3},"up":[0],"acting":[0]}]}}"#;
    let files = [
        ("sizes.csv", b"size,count\n1MiB,3\n10,1\n".to_vec()),
        ("sizes.txt", b"# total_count: 4\n0 1024 1\n1024 2048 3\n".to_vec()),
        ("broken.csv", b"size,count\n1MiB;3\n".to_vec()),
        ("cut.txt", b"# total_count: 40\n0 1024 1\n".to_vec()),
        ("pg_dump.json", dump.to_vec()),
    ];
    Folder(files.map(|(name, bytes)| (name.to_owned(), bytes)).into())
}

fn complete(text: &str) -> Result<DataSet, Problems> {
    let text = format!("study = \"rebuild\"\n[population]\n{text}");
    let document = Document::parse(&Source::file("rebuild.toml", text))?.with_files(Arc::new(folder()));
    let outline = document.outline()?;
    let draft = outline.points()[0].draft();
    draft.read::<Scenario>()?.population.complete(draft, "population", 21)?.data_set(draft, "population")
}

fn completed(text: &str) -> DataSet {
    complete(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn stripe(unit: Bytes, width_max: u32) -> Layout {
    Layout::Stripe { unit, width_max }
}

#[test]
fn defaults_are_those_of_the_preset() {
    let genomes = completed("");
    assert_eq!(genomes.spec.preset, Some(PresetName::ThousandGenomes));
    assert_eq!((&genomes.sizes, genomes.layout), (&SizeHistogram::thousand_genomes(), Layout::CHUNKS));
    assert_eq!(genomes, completed("preset = \"1000-genomes\""));
    let mira = completed("preset = \"mira\"");
    assert_eq!((&mira.sizes, mira.layout), (&SizeHistogram::mira(), stripe(Bytes::from_mib(4), 21)));
    assert_eq!(mira.spec.stripe_width_max, Some(21));
    let other = completed("preset = \"mira\"\nlayout = \"chunks\"\nchunk = \"1GiB\"");
    assert_eq!(other.layout, Layout::Chunks(Bytes::from_gib(1)));
    let narrow = completed("preset = \"mira\"\nstripe_unit = \"1MiB\"\nstripe_width_max = 4");
    assert_eq!(narrow.layout, stripe(Bytes::from_mib(1), 4));
}

#[test]
fn distributions_and_files_are_read() {
    let constant = completed("distribution = \"constant\"\nsize = \"1GiB\"");
    assert_eq!((constant.sizes.mean(), constant.layout), ((1u64 << 30) as f64, Layout::CHUNKS));
    let normal = completed("distribution = \"log_normal\"\nmedian = \"1MiB\"\nsigma = 1.5\ncap = \"1TiB\"");
    assert!(normal.sizes.largest() <= Bytes::from_gib(1024));
    let pareto = completed("distribution = \"pareto\"\nmin = \"1MiB\"\nshape = 1.2\nlayout = \"whole\"");
    assert_eq!((pareto.sizes.smallest(), pareto.layout), (Bytes::from_mib(1), Layout::Whole));
    let csv = completed("distribution = \"csv\"\nfile = \"sizes.csv\"");
    assert_eq!(csv.sizes.to_text(), "# total_count: 4\n10 11 1\n1048576 1048577 3\n");
    let histogram = completed("distribution = \"histogram\"\nfile = \"sizes.txt\"");
    assert_eq!(histogram.sizes.total(), 4);
    let dump = completed("distribution = \"pg_dump\"\nfile = \"pg_dump.json\"");
    assert_eq!(dump.sizes.to_text(), "# total_count: 7\n3 4 3\n1024 1025 4\n");
    assert_eq!(dump.layout, Layout::Whole);
}

#[test]
fn what_is_resolved_resolves_to_itself() {
    for text in [
        "",
        "preset = \"mira\"",
        "distribution = \"log_normal\"\nmedian = \"1MiB\"\nsigma = 1.5",
        "distribution = \"csv\"\nfile = \"sizes.csv\"\nlayout = \"stripe\"",
    ] {
        let set = completed(text);
        let again = completed(&toml::to_string(&set.spec).unwrap());
        assert_eq!(again, set, "{text}");
    }
}

#[test]
fn refusals() {
    let texts = [
        "preset = \"mirra\"",
        "preset = \"mira\"\ndistribution = \"csv\"\nfile = \"sizes.csv\"",
        "distribution = \"log_normal\"\nmedian = \"1MiB\"",
        "distribution = \"constant\"\nsize = \"1MiB\"\nsigma = 2.0",
        "preset = \"mira\"\nfile = \"sizes.csv\"",
        "distribution = \"constant\"\nsize = \"0B\"",
        "distribution = \"pareto\"\nmin = \"1MiB\"\nshape = 1.2\ncap = \"1KiB\"",
        "distribution = \"pareto\"\nmin = \"1MiB\"\nshape = 0.0",
        "distribution = \"csv\"\nfile = \"nowhere.csv\"",
        "distribution = \"csv\"\nfile = \"broken.csv\"",
        "distribution = \"histogram\"\nfile = \"cut.txt\"",
        "distribution = \"pg_dump\"\nfile = \"sizes.csv\"",
        "layout = \"whole\"\nchunk = \"1MiB\"",
        "preset = \"mira\"\nchunk = \"1MiB\"",
        "chunk = \"0B\"",
        "preset = \"mira\"\nlayout = \"chunks\"\nchunk = \"1MiB\"",
        "distribution = \"constant\"\nsize = \"1EiB\"\nchunk = \"1KiB\"",
    ];
    let mut messages = String::new();
    for text in texts {
        for problem in complete(text).expect_err(text).iter() {
            let line = problem.place().map_or(0, |place| place.line_and_column().0);
            messages.push_str(&format!(
                "{line}: {}\n   {}\n",
                problem.message(),
                problem.next_step().unwrap_or("-")
            ));
        }
    }
    insta::assert_snapshot!(messages, @r#"
    3: `population.preset` is "mirra", but it must be "1000-genomes" or "mira"
       did you mean "mira"?
    3: `population.preset` is "mira" and `population.distribution` is "csv", but only one of them may be given
       leave one of the two out
    2: `population.sigma` is missing, but the distribution "log_normal" needs it
       add `sigma = 1.5`
    5: `population.sigma` is given, but the distribution "constant" does not use it
       leave it out, or change `distribution`
    4: `population.file` is given, but a preset does not use it
       leave it out, or change `distribution`
    4: `size` is 0B, but must be from 1B to 1EiB
       write it as in `size = "64MiB"`
    6: `cap` is 1KiB, but must be at least `min`, which is 1MiB
       write it as in `cap = "1TiB"`
    5: `population.shape` is 0.0, but it must be from 0.01 to 100
       set `population.shape` to a value from 0.01 to 100
    4: cannot read `nowhere.csv`: no such file
       paths are relative to the directory of the scenario file
    4: `broken.csv`: line 2: the number of columns is 1, but must be 2: `size,count`
       a histogram has lines `min max count`; a table has lines `size,count`, such as `4096,17`
    4: `cut.txt`: line 2: `total_count` is 40, but the bins hold 1 files
       the file may be cut short; rounding may lose at most one file per bin
    4: `sizes.csv`: the file contains no JSON
       it should be the output of `ceph pg dump -f json`
    4: `population.chunk` is given, but the layout `whole` does not use it
       leave it out, or set `population.layout` to "chunks"
    4: `population.chunk` is given, but the layout `stripe` does not use it
       leave it out, or set `population.layout` to "chunks"
    3: `chunk` is 0, but must be greater
       64MiB is usual for chunks, 4MiB for stripes
    5: in pieces of 1MiB, files of up to 17.592186044415TB have 16777250 different numbers of objects, but the limit is 2097152
       use larger pieces, or a smaller `cap`
    5: a file of 1EiB in pieces of 1KiB has 1125899906842624 objects, but the limit is 4294967295
       use larger pieces, or a smaller `cap`
    "#);
}

fn number(cell: &towtank_report::Cell) -> Option<f64> {
    match cell {
        towtank_report::Cell::Number(number) => number.as_f64(),
        _ => None,
    }
}

#[test]
fn figures_and_tables_add_up() {
    let set = completed("preset = \"mira\"");
    let population = set.population(Extent::Bytes((64 * 20) << 40), Seed(1)).unwrap();
    let Shown { figures: drawn, tables } = Shown::of(&set, &population);
    assert_eq!(
        drawn.iter().map(|figure| figure.id.as_str()).collect::<Vec<_>>(),
        ["file_sizes", "object_sizes"]
    );
    for figure in drawn {
        let towtank_report::Kind::Histogram { series, .. } = figure.kind else {
            panic!("{} is no histogram", figure.id)
        };
        for series in series {
            let sum: f64 = series.bins.iter().filter_map(|bin| bin.height.get()).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{}: {sum}", series.name);
        }
    }
    for (table, things) in tables.iter().zip([population.files(), population.objects()]) {
        let sum = |column: usize| -> f64 { table.rows().iter().filter_map(|row| number(&row[column])).sum() };
        assert!((sum(2) - things as f64).abs() < 1e-3, "{}: {}", table.id(), sum(2));
        assert!((sum(3) / population.bytes_expected() - 1.0).abs() < 1e-9);
    }
}
