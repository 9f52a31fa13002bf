//! haltere-lab
