//! How long do ten round trips take? Two players send a ball to each other: a complete model in forty lines.
//!
//! Run it with `cargo run -p towtank-kernel --example ping`. Then read `barrier.rs` and `undo.rs` beside it.

use towtank_kernel::prelude::*;

/// The constant part of the model: here, the number of round trips.
pub struct Ping {
    /// The number of round trips.
    pub rounds: u32,
}

/// The state of one entity. Only its own events change it, and no other entity can read it during the run.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Player {
    caught: u32,
}

/// The event type: a plain value that entities send to each other.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Ball;

/// The flight time of the ball. It is declared as the least delay of every link, which gives parallel
/// executors their look-ahead.
const FLIGHT: SimSpan = SimSpan::from_us(250);

impl Model for Ping {
    type Entity = Player;
    type Event = Ball;
    /// Undo needs no data: executors that speculate clone the player before each event.
    type Undo = ();
    type Statistics = ();
    type Output = ();

    fn entities(&self) -> u32 {
        2
    }

    fn links(&self) -> Links {
        Links::all(FLIGHT)
    }

    fn create(&self, _id: EntityId) -> Player {
        Player { caught: 0 }
    }

    fn start(&self, _player: &mut Player, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        if context.me() == EntityId(0) {
            context.send(EntityId(1), FLIGHT, Ball);
        }
        Ok(())
    }

    fn handle(&self, player: &mut Player, _: &Ball, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        player.caught += 1;
        let back = EntityId(1 - context.me().0);
        if back == EntityId(0) || player.caught < self.rounds {
            context.send(back, FLIGHT, Ball);
        }
        Ok(())
    }
}

/// The answer, from the outcome of a run.
pub fn answer(outcome: &Outcome<Ping>) -> String {
    format!("{} round trips take {}", outcome.entities[0].caught, outcome.now)
}

fn main() -> Result<(), RunError> {
    println!("{}", answer(&run(&Ping { rounds: 10 }, RunOptions::default())?));
    Ok(())
}
