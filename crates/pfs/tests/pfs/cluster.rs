//! The set-up of the PFSsim paper, with which all tests begin.

use towtank_devices::drives::{DiskModel, HeadOrder, Noise, RateSpec};
use towtank_devices::{Replacement, Sharing as Port};
use towtank_iosched::Flows;
use towtank_pfs::{
    Application, Cache, ClientSpec, Component, DiskSpec, MetadataBy, MetadataSpec, Network, Order, Phase,
    Reads, Scheduler, ServerSpec, Sharing, Spec, Stands, Striping, Syncs, Work,
};
use towtank_units::{Rate, SimSpan};

/// A rate in bytes per second.
pub fn rate(bytes: u64) -> Rate {
    Rate::from_bytes_per_second(bytes).expect("above zero")
}

/// An application whose clients write files of 1 MiB and read them.
pub fn application(clients: u32, files: u64) -> Application {
    Application {
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
        syncs: Syncs::Phase,
        replay: None,
    }
}

/// The paper's cluster with the rates of PFSsim v0.18, and these applications.
pub fn spec(applications: Vec<Application>) -> Spec {
    let ms = |tenths: u64| SimSpan::from_us(100 * tenths);
    let flows = Flows::equal(applications.len());
    Spec {
        servers: 4,
        striping: Striping::new(4, vec![Component { end: None, count: 4, stripe: 256 << 10 }]),
        work: Work::new(applications),
        network: Network {
            card: Some(rate(125_000_000)),
            latency: SimSpan::from_us(400),
            sharing: Port::Fifo,
            header: 100,
            slice: None,
            lost: 0,
            buffer: None,
            timeout: SimSpan::from_ms(200),
            routers: None,
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
            reads: Reads::First,
            cache: None,
            parda: None,
            feedback: false,
        },
        server: ServerSpec {
            before: ms(20),
            after: ms(20),
            threads: 16,
            part: 256 << 10,
            handshake: false,
            locks: false,
        },
        scheduler: Scheduler {
            descriptions: vec!["fifo:8".parse().expect("it is one")],
            flows,
            stands: Stands::Servers,
            rules: Vec::new(),
        },
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
        disk: disk(13_653_333, 6_826_667, SimSpan::ZERO, Noise::None),
        sample: SimSpan::from_ms(2_500),
    }
}

/// A constant-rate disk.
pub fn disk(read: u64, write: u64, overhead: SimSpan, noise: Noise) -> DiskSpec {
    let model = RateSpec {
        read: rate(read),
        write: rate(write),
        read_overhead: overhead,
        write_overhead: overhead,
        noise,
    };
    DiskSpec { model: DiskModel::Rate(model), order: HeadOrder::Fifo }
}
