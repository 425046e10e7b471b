//! The kernel from outside: its rules, its executors against each other on known and random models, and its
//! examples.

mod check;
mod examples;
mod journal;
mod members;
mod phold;
mod random_models;
mod rules;
mod slack;
