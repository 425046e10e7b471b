//! The set-up of the PFSsim paper against a model that was made apart from this one.

use towtank_devices::{Replacement, Sharing as Port};
use towtank_iosched::Flows;
use towtank_kernel::{Executor, RunOptions, run};
use towtank_pfs::{
    Application, Cache, ClientSpec, Component, Counts, Drive, MetadataBy, MetadataSpec, Network, Order, Pfs, Phase, Place,
    Scheduler, ServerSpec, Sharing, Spec, Striping, Work,
};
use towtank_units::{Rate, SimSpan};

fn spec(clients: u32, files: u64) -> Spec {
    let ms = |tenths: u64| SimSpan::from_us(100 * tenths);
    Spec {
        servers: 4,
        striping: Striping::new(4, vec![Component { end: None, count: 4, stripe: 256 << 10 }]),
        work: Work::new(vec![Application {
            clients,
            files,
            file_bytes: 1 << 20,
            request_bytes: 1 << 20,
            phases: vec![Phase::Write, Phase::Read],
            order: Order::Sequential,
            sharing: Sharing::Own,
            flows: 1,
            think: SimSpan::ZERO,
            arrivals: None,
        }]),
        network: Network {
            card: Rate::from_bytes_per_second(125_000_000),
            latency: SimSpan::from_us(400),
            sharing: Port::Fifo,
            header: 100,
            slice: None,
            lost: 0,
            buffer: None,
            timeout: SimSpan::from_ms(200),
        },
        metadata: MetadataSpec {
            servers: 1,
            threads: 0,
            open: ms(10),
            create: ms(10),
            stat: ms(10),
            remove: ms(10),
            by: MetadataBy::Hash,
            answer: 300,
        },
        client: ClientSpec {
            request: ms(10),
            job: ms(1),
            window: 10 << 20,
            layouts_are_kept: false,
            copies: 1,
            cache: None,
        },
        server: ServerSpec { before: ms(20), after: ms(20), threads: 16, part: 256 << 10, handshake: false, locks: false },
        scheduler: Scheduler { place: Place::Server, depth: Some(8), flows: Flows::equal(1) },
        cache: Some(Cache {
            pages: 225_000,
            dirty: 101_250,
            background: None,
            replacement: Replacement::Lru,
            write_batch: 32,
            read_batch: 1_024,
            read_ahead: 0,
            read_page: SimSpan::from_us(10),
            write_page: SimSpan::from_us(190),
        }),
        disk: Drive {
            read: Rate::from_bytes_per_second(13_653_333).unwrap(),
            write: Rate::from_bytes_per_second(6_826_667).unwrap(),
            overhead: SimSpan::ZERO,
            jitter: 0.0,
        },
        sample: SimSpan::from_ms(2_500),
        until: None,
    }
}

#[test]
fn curves() {
    for clients in [4, 8, 16, 32, 64] {
        let spec = spec(clients, 400);
        let started = std::time::Instant::now();
        let outcome = run(&Pfs::new(&spec), RunOptions::default()).unwrap();
        let took = started.elapsed();
        let counts: Counts = outcome.merged_statistics();
        let mut line = format!("{clients}: {} events in {took:?};", outcome.run.committed);
        for phase in [0, 1] {
            let done = &counts.done[&(phase, 0)];
            let begin = counts.began[&phase];
            let secs = done.last.since(begin).as_secs_f64();
            line += &format!(" {:.1} MiB/s ({:.1} ms)", done.bytes as f64 / 1048576.0 / secs, done.latencies.mean().unwrap() / 1e6);
        }
        println!("{line} here {} missing {} throttled {}", counts.pages_here, counts.pages_missing, counts.throttled);
    }
    let _ = Executor::Sequential;
}
