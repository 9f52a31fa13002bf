//! haltere-transport
