//! How long a device lives: its hazard by age, the hazard accumulated by an age, and the inverse of that,
//! from which a life is drawn for any age and any factor of the hazard.

use super::{Afr, Year};
use crate::error::{DurabilityError, positive};
use crate::sums::sum;

/// A constant hazard from an age on, until the next piece begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// The age at which it begins.
    pub from_h: f64,
    /// Its hazard.
    pub per_h: f64,
}

/// The law of a life.
#[derive(Clone, Debug, PartialEq)]
pub enum Life {
    /// The same hazard at every age.
    Constant {
        /// The hazard.
        per_h: f64,
    },
    /// A hazard that grows (shape above 1) or falls (below 1) with age.
    Weibull {
        /// The exponent of the accumulated hazard.
        shape: f64,
        /// The age by which the accumulated hazard is 1.
        scale_h: f64,
    },
    /// Pieces of constant hazard by age, from age 0.
    Bathtub(Vec<Piece>),
}

impl Life {
    /// A constant hazard.
    ///
    /// # Errors
    /// As [`Afr::per_hour`].
    pub fn constant(afr: Afr, year: Year) -> Result<Life, DurabilityError> {
        Ok(Life::Constant { per_h: afr.per_hour(year)? })
    }

    /// A Weibull law by which as many fail in their first five years as with a constant AFR, the probability
    /// of a year: the scale of mlec-sim (ucare-uchicago/mlec-sim@db56f5a).
    ///
    /// # Errors
    /// If the AFR is no probability, or the shape is not above 0.
    pub fn weibull_of_five_years(shape: f64, afr: f64, year: Year) -> Result<Life, DurabilityError> {
        let shape = positive("the shape of the Weibull law", shape)?;
        let hazard = 5.0 * Afr::Probability(afr).per_hour(year)? * year.hours();
        Ok(Life::Weibull { shape, scale_h: 5.0 * year.hours() / libm::pow(hazard, 1.0 / shape) })
    }

    /// Pieces of constant hazard by age.
    ///
    /// # Errors
    /// If they do not begin at age 0 and rise, or a hazard is negative, or the last is zero.
    pub fn bathtub(pieces: Vec<Piece>) -> Result<Life, DurabilityError> {
        let last = pieces.last().ok_or(DurabilityError::PiecesOutOfOrder(0))?;
        positive("the hazard of the last piece", last.per_h)?;
        for (index, piece) in pieces.iter().enumerate() {
            let begins =
                if index == 0 { piece.from_h == 0.0 } else { piece.from_h > pieces[index - 1].from_h };
            if !begins {
                return Err(DurabilityError::PiecesOutOfOrder(index));
            }
            if piece.per_h != 0.0 {
                positive("the hazard of a piece", piece.per_h)?;
            }
        }
        Ok(Life::Bathtub(pieces))
    }

    /// Refuses a law that was put together with numbers that it cannot have.
    pub(crate) fn check(&self) -> Result<(), DurabilityError> {
        match self {
            Life::Constant { per_h } => positive("a hazard per hour", *per_h).map(|_| ()),
            Life::Weibull { shape, scale_h } => {
                positive("the shape of the Weibull law", *shape)?;
                positive("the scale of the Weibull law", *scale_h).map(|_| ())
            }
            Life::Bathtub(pieces) => Life::bathtub(pieces.clone()).map(|_| ()),
        }
    }

    /// The hazard at an age, per hour.
    #[must_use]
    pub fn hazard(&self, age_h: f64) -> f64 {
        match self {
            Life::Constant { per_h } => *per_h,
            Life::Weibull { shape, scale_h } => {
                shape / scale_h * libm::pow((age_h / scale_h).max(1e-12), shape - 1.0)
            }
            Life::Bathtub(pieces) => piece_at(pieces, age_h).per_h,
        }
    }

    /// The hazard accumulated from age 0: P(failed by then) = 1 - exp(-it).
    #[must_use]
    pub fn accumulated(&self, age_h: f64) -> f64 {
        match self {
            Life::Constant { per_h } => per_h * age_h,
            Life::Weibull { shape, scale_h } => libm::pow(age_h / scale_h, *shape),
            Life::Bathtub(pieces) => sum(pieces.iter().enumerate().map(|(index, piece)| {
                let end = pieces.get(index + 1).map_or(age_h, |next| next.from_h.min(age_h));
                (end - piece.from_h).max(0.0) * piece.per_h
            })),
        }
    }

    /// For how long a device of an age lives on, until so much more hazard has accumulated.
    #[must_use]
    pub fn rest_h(&self, age_h: f64, hazard: f64) -> f64 {
        match self {
            Life::Constant { per_h } => hazard / per_h,
            Life::Weibull { shape, scale_h } => {
                let until = libm::pow(age_h / scale_h, *shape) + hazard;
                (scale_h * libm::pow(until, 1.0 / shape) - age_h).max(0.0)
            }
            Life::Bathtub(pieces) => {
                let (mut at, mut left) = (age_h, hazard);
                for next in pieces.iter().filter(|piece| piece.from_h > age_h) {
                    let here = (next.from_h - at) * piece_at(pieces, at).per_h;
                    if here >= left && here > 0.0 {
                        break;
                    }
                    left -= here;
                    at = next.from_h;
                }
                at + left / piece_at(pieces, at).per_h - age_h
            }
        }
    }
}

fn piece_at(pieces: &[Piece], age_h: f64) -> Piece {
    let later = pieces.iter().skip(1).take_while(|piece| piece.from_h <= age_h);
    *later.last().unwrap_or(&pieces[0])
}

/// The average hazard of a fleet of mixed ages, each with its number of devices: the average of their
/// hazards, which is not the hazard of their average age.
///
/// # Errors
/// If there are no devices.
pub fn average_hazard(life: &Life, fleet: &[(f64, u64)]) -> Result<f64, DurabilityError> {
    let devices: u64 = fleet.iter().map(|(_, count)| count).sum();
    let devices = positive("the number of devices", devices as f64)?;
    Ok(sum(fleet.iter().map(|(age_h, count)| life.hazard(*age_h) * *count as f64)) / devices)
}
