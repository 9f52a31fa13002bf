//! haltere-sim
