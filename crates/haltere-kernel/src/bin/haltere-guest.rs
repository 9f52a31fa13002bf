//! The first process of a guest.

fn main() {
    haltere_kernel::guest::main()
}
