use super::*;
use crate::testing::privileged;

fn settings() -> HostSettings {
    HostSettings {
        mtu: 1500,
        sysctls: vec![("ipv4/tcp_ecn".into(), "1".into())],
        metrics: vec![RouteMetric::InitCwnd(4)],
    }
}

#[test]
fn hosts_have_their_addresses_and_their_own_sysctls() {
    if !privileged("namespaces") {
        return;
    }
    let topology = Topology::build(&[(vec![0], settings()), (vec![3], settings())]).unwrap();
    let host = &topology.host(3).unwrap().namespace;
    assert_eq!(host.read_sysctl("ipv4/tcp_ecn").unwrap(), "1");
    assert_eq!(topology.router.read_sysctl("ipv4/tcp_ecn").unwrap(), "2", "the router's is the kernel's default");
    let names = host.enter(|| Ok(nix::ifaddrs::getifaddrs()?.map(|a| a.interface_name).collect::<Vec<_>>())).unwrap();
    assert!(names.contains(&"e0".to_string()), "{names:?}");
    let bound = host.enter(|| std::net::UdpSocket::bind((node_address(3), 0)));
    assert!(bound.is_ok());
    let foreign = host.enter(|| std::net::UdpSocket::bind((node_address(0), 0)));
    assert_eq!(foreign.unwrap_err().kind(), io::ErrorKind::AddrNotAvailable);
}

#[test]
fn a_missing_sysctl_is_an_error_that_names_it() {
    if !privileged("namespaces") {
        return;
    }
    let error = Namespace::new().unwrap().sysctl("ipv4/no_such_thing", "7").unwrap_err().to_string();
    assert_eq!(error, "this kernel has no `net/ipv4/no_such_thing`, needed for 7");
}

#[test]
fn children_are_inside() {
    if !privileged("namespaces") {
        return;
    }
    let topology = Topology::build(&[(vec![0], settings()), (vec![1], settings())]).unwrap();
    let mut command = Command::new("cat");
    command.arg("/proc/net/dev").stdout(std::process::Stdio::piped());
    let output = topology.hosts[0].namespace.spawn(&mut command).unwrap().wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("e0:") && !text.contains("n0:"), "{text}");
}
