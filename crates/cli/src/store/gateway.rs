//! `towtank store gateway`: serves S3 for a cluster, until Ctrl-C.

use std::net::{SocketAddr, TcpListener};

use towtank::Trouble;
use towtank_gateway::{Gateway as Open, GatewayError, KEY_FILE, is_loopback};
use towtank_scenario::Problem;

use super::flags::Gateway;
use super::{home, print, trouble};
use crate::exit::Exit;
use crate::{interrupt, screen};

/// `gateway`.
pub fn gateway(flags: &Gateway) -> Result<Exit, Trouble> {
    let home = home(&flags.place.dir)?;
    if !is_loopback(&flags.listen) && !flags.allow_other_addresses {
        let problem = Problem::new(format!("--listen is {}, which others can reach", flags.listen));
        return Err(Trouble::from(problem.hint(
            "what goes over it is signed, but not encrypted: listen on 127.0.0.1, or add --allow-other-addresses",
        )));
    }
    let gateway = Open::open(&home).map_err(trouble_of)?;
    let cleaner = gateway.cleaner();
    if flags.clean {
        let (pieces, parts) = cleaner().map_err(trouble_of)?;
        return print(&format!("{pieces} pieces and {parts} parts that belonged to nothing are removed\n"));
    }
    let stop = interrupt::watch_to_the_end();
    let listener = TcpListener::bind(flags.listen).map_err(|error| {
        let problem = Problem::new(format!("cannot listen on {}: {error}", flags.listen));
        Trouble::Failed(problem.hint("port 0 takes any that is free"))
    })?;
    let address = listener.local_addr().map_err(|error| Trouble::failed(error.to_string()))?;
    let endpoint = format!("http://{}", reachable(address));
    let key = home.path(KEY_FILE);
    let key = key.display();
    print(&format!(
        "S3 at {endpoint}, access key {}, secret in {key}; \
         (set -a; . '{key}'; aws --endpoint-url {endpoint} --region us-east-1 s3 ls)\n",
        gateway.keys().access_key
    ))?;
    std::thread::spawn(move || match cleaner() {
        Ok((0, 0)) => {}
        Ok((pieces, parts)) => {
            screen::say(&format!("{pieces} pieces and {parts} parts that a crash had left are removed\n"));
        }
        // The next start finds them too.
        Err(error) => screen::say(&format!("what a crash may have left was not looked for: {error}\n")),
    });
    gateway.serve(listener, &|| stop.raised()).map_err(trouble_of)?;
    screen::say("the gateway has ended\n");
    Ok(Exit::Done)
}

/// The address by which a client on this machine reaches it.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        _ if !address.ip().is_unspecified() => address,
        SocketAddr::V4(_) => SocketAddr::from(([127, 0, 0, 1], address.port())),
        SocketAddr::V6(_) => SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, address.port())),
    }
}

fn trouble_of(error: GatewayError) -> Trouble {
    match error {
        GatewayError::Store(error) => trouble(error),
        GatewayError::Settings(error) => trouble(error.into()),
        GatewayError::Taken => Trouble::Failed(
            Problem::new(error.to_string()).hint("one is enough: it answers many clients at once"),
        ),
        _ => Trouble::failed(error.to_string()),
    }
}
