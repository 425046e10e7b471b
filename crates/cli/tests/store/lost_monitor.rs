//! A monitor's directory that is lost, and made anew from what the devices know.

use std::fs;
use std::path::PathBuf;

use crate::{Cluster, some_objects};

impl Cluster {
    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn move_to(&self, from: &str, to: &str) {
        fs::rename(self.at(from), self.at(to)).expect("it is there");
    }

    fn lose_monitor(&self) {
        fs::remove_dir_all(self.at("monitor")).expect("it is there");
    }

    fn rebuild(&self, flags: &[&str]) -> String {
        let said = self.run(&[&["rebuild-monitor"], flags].concat());
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        said.stderr
    }

    /// Starts the monitor alone, so that daemons can be started one by one.
    fn start_monitor(&self) {
        let log = fs::File::create(self.at("log/monitor.log")).expect("it can be made");
        let mut command = self.command(&["daemon", "monitor", "--dir"]);
        let child = command.arg(&self.0).stdout(log.try_clone().expect("it is open")).stderr(log).spawn();
        let pid = child.expect("it can be run").id().to_string();
        fs::write(self.at("run/monitor.pid"), pid).expect("it can be written");
        let answers = |_: &u32| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            self.run(&["status"]).code == 0
        };
        assert!((0..200).any(|look| answers(&look)), "the monitor does not answer");
    }
}

/// Of four devices with two copies each, two have the second version alone.
#[test]
fn groups_wait_for_the_same_devices_as_before() {
    let cluster = Cluster::up("rebuilt", &["--osds", "3", "--groups", "4", "--grace", "1s"]);
    let mut objects = some_objects(8, 1);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    cluster.put("it", b"first");
    cluster.run(&["osd", "stop", "2"]).done();
    cluster.put("it", b"second");
    cluster.run(&["osd", "stop", "0"]).done();
    cluster.run(&["osd", "stop", "1"]).done();
    let said = cluster.refused(&["rebuild-monitor"], 1);
    assert!(said.contains("monitor of the cluster in") && said.contains("store down"), "{said}");
    cluster.run(&["down"]).done();
    let said = cluster.refused(&["rebuild-monitor"], 2);
    assert!(said.contains("is in order") && said.contains("nothing is done"), "{said}");
    cluster.lose_monitor();
    let said = cluster.refused(&["up"], 1);
    assert!(said.contains("maps of the monitor are missing") && said.contains("rebuild-monitor"), "{said}");
    let said = cluster.rebuild(&[]);
    assert!(said.contains("made from osd.0, osd.1, osd.2"), "{said}");
    cluster.start_monitor();
    assert_eq!(cluster.standing()["osds"][0]["up"], false);
    cluster.run(&["osd", "start", "2"]).done();
    assert_eq!(cluster.reads("it"), None, "2 has only the first version");
    cluster.run(&["osd", "start", "0"]).done();
    assert_eq!(cluster.get("it"), b"second");
    cluster.run(&["osd", "start", "1"]).done();
    cluster.wait_until_clean();
    objects.insert("it".to_owned(), b"second".to_vec());
    cluster.holds(&objects);
    cluster.verified();
    // Again, after more has happened.
    cluster.run(&["osd", "stop", "1"]).done();
    cluster.put("it", b"third");
    cluster.run(&["down"]).done();
    cluster.lose_monitor();
    cluster.rebuild(&[]);
    cluster.lose_monitor();
    cluster.rebuild(&[]);
    cluster.run(&["up"]).done();
    objects.insert("it".to_owned(), b"third".to_vec());
    cluster.holds(&objects);
    cluster.verified();
}
