//! A router between two interfaces: any discipline of the registry, a rate, a delay, loss.

use haltere_queue::QueueParams;
use haltere_units::{Bytes, Dur, Prob, Rate, Time};
use haltere_wire::WireError;
use haltere_wire::clock::Monotonic;
use haltere_wire::fabric::{Fabric, FabricParams, Steering};
use haltere_wire::link::LinkParams;
use haltere_wire::port::packet::PacketPort;
use haltere_wire::router::Router;
use haltere_wire::service::{Bell, Service};
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
haltere-router: a router between two interfaces, with the queue disciplines of Haltere

  haltere-router --left IF --right IF [options]

Options for both directions, or one (`--rate-right` is left to right, `--rate-left` right to left):
  --rate RATE         rate of the line: 10Mbit, 1.5Gbit (default: none, packets take no time)
  --delay SPAN        propagation time: 10ms, 50us (default 0)
  --jitter SPAN       each packet is under way longer by up to this; order is kept (default 0)
  --burst BYTES       an idle line saves up so many bytes, which then take no time (default 0)
  --loss P            chance that a packet is lost on the line: 0.01, 1% (default 0)
  --queue PARAMS      discipline with its parameters: '{ kind = \"fq_codel\", limit = \"1000p\" }' (default drop_tail)
  --reorder P         chance that a packet is held up by --reorder-by, so that later ones overtake it
  --reorder-by SPAN   (default 1ms)
  --rtt SPAN          round-trip time of the flows, for sizes in `bdp`
Others:
  --seed N            seed of all chance (default 1)
  --isn-bits N        senders' initial sequence numbers end in N zero bits (default 0: not known)
  --spin SPAN         do not sleep through the last SPAN before a deadline (default 0; takes a whole core)
  --slots N           received frames that an interface can hold (default 8192)
  --listen ADDR       serve /metrics (Prometheus) and /stats (JSON), e.g. 127.0.0.1:9900
  --pcap-left FILE, --pcap-right FILE    write what passes that side as pcapng
  --duration SPAN     end by itself
  --quiet             no line per second on standard error
SIGUSR1 prints the statistics as one line of JSON on standard output; SIGTERM and SIGINT take no more packets in, let those inside
go out, print the statistics and end.
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("haltere-router: {e}");
            ExitCode::from(if matches!(e, WireError::Plan(..)) { 2 } else { 1 })
        }
    }
}

struct Arguments {
    left: String,
    right: String,
    links: [LinkParams; 2],
    seed: u64,
    isn_bits: u8,
    spin: Dur,
    slots: usize,
    captures: [Option<PathBuf>; 2],
    service: Service,
}

fn run() -> Result<(), WireError> {
    let Some(arguments) = parse()? else {
        print!("{HELP}");
        return Ok(());
    };
    // Signals wait for the loop from here on.
    let bell = Bell::hang()?;
    let [there, back] = arguments.links;
    let fabric = Fabric::new(FabricParams {
        nodes: 2,
        ports: vec![0, 1],
        links: vec![there, back],
        steering: Steering::Across,
        framing: 14,
        isn_bits: arguments.isn_bits,
        seed: arguments.seed,
        sample: None,
        warmup: Time::ZERO,
    })?;
    let names = [arguments.left, arguments.right];
    let ports = names.iter().map(|name| PacketPort::open(name, arguments.slots)).collect::<Result<Vec<_>, _>>()?;
    let mut router = Router::new(fabric, ports)?;
    for (port, path) in arguments.captures.iter().enumerate() {
        if let Some(path) = path {
            router.capture(port, path, &names[port])?;
        }
    }
    let mut clock = Monotonic::start(arguments.spin).map_err(|e| WireError::os("the clock", e))?;
    arguments.service.run(&mut router, &mut clock, bell)
}

fn line(name: &str, from: usize, to: usize) -> LinkParams {
    LinkParams {
        name: name.into(),
        from,
        to,
        rate: None,
        delay: Dur::ZERO,
        jitter: Dur::ZERO,
        burst: Bytes::ZERO,
        mpu: Bytes::ZERO,
        loss: Prob::ZERO,
        reorder: Prob::ZERO,
        reorder_by: Dur::from_ms(1),
        queue: QueueParams::default_of("drop_tail").unwrap_or_else(|| unreachable!("the registry has drop tail")),
        ring: None,
        handover_at_start: false,
        watched: false,
        rtt: None,
    }
}

fn parse() -> Result<Option<Arguments>, WireError> {
    use lexopt::prelude::*;
    let bad = |e: lexopt::Error| WireError::plan("arguments", e);
    let (mut left, mut right) = (None, None);
    let mut links = [line("right", 0, 1), line("left", 1, 0)];
    let (mut seed, mut isn_bits, mut spin, mut slots) = (1, 0, Dur::ZERO, 8192);
    let mut captures = [None, None];
    let mut service = Service::default();
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next().map_err(bad)? {
        let name = match argument {
            Long("help") | Short('h') => return Ok(None),
            Long("quiet") => {
                service.quiet = true;
                continue;
            }
            Long(name) => name.to_string(),
            other => return Err(bad(other.unexpected())),
        };
        let value = parser.value().and_then(|v| v.string()).map_err(bad)?;
        match name.as_str() {
            "left" => left = Some(value),
            "right" => right = Some(value),
            "seed" => seed = read(&name, &value)?,
            "isn-bits" => isn_bits = read(&name, &value)?,
            "spin" => spin = read(&name, &value)?,
            "slots" => slots = read(&name, &value)?,
            "listen" => service.listen = Some(value),
            "duration" => service.duration = Some(read(&name, &value)?),
            "pcap-left" => captures[0] = Some(value.into()),
            "pcap-right" => captures[1] = Some(value.into()),
            _ => {
                let (of, both): (&str, &[usize]) = match (name.strip_suffix("-right"), name.strip_suffix("-left")) {
                    (Some(of), _) => (of, &[0]),
                    (_, Some(of)) => (of, &[1]),
                    _ => (&name, &[0, 1]),
                };
                for &which in both {
                    set(&mut links[which], of, &name, &value)?;
                }
            }
        }
    }
    let need = |side: Option<String>, name: &str| {
        side.ok_or_else(|| {
            WireError::plan("arguments", format!("--{name} must be given: the name of an interface; see --help"))
        })
    };
    let (left, right) = (need(left, "left")?, need(right, "right")?);
    if isn_bits > 32 {
        return Err(WireError::plan("arguments", format!("--isn-bits must be at most 32, got {isn_bits}")));
    }
    Ok(Some(Arguments { left, right, links, seed, isn_bits, spin, slots, captures, service }))
}

fn set(link: &mut LinkParams, of: &str, name: &str, value: &str) -> Result<(), WireError> {
    match of {
        "rate" => link.rate = Some(read(name, value)?),
        "delay" => link.delay = read(name, value)?,
        "jitter" => link.jitter = read(name, value)?,
        "burst" => link.burst = read(name, value)?,
        "loss" => link.loss = read(name, value)?,
        "reorder" => link.reorder = read(name, value)?,
        "reorder-by" => link.reorder_by = read(name, value)?,
        "rtt" => link.rtt = Some(read(name, value)?),
        "queue" => link.queue = queue(name, value)?,
        _ => {
            return Err(WireError::plan(
                "arguments",
                format!("--{name} must be an option of haltere-router; see --help"),
            ));
        }
    }
    if link.rate == Some(Rate::ZERO) {
        return Err(WireError::plan("arguments", format!("--{name} must be above zero, got {value}")));
    }
    Ok(())
}

fn read<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, WireError>
where
    T::Err: std::fmt::Display,
{
    value.parse().map_err(|e| WireError::plan("arguments", format!("--{name} {e} (given `{value}`)")))
}

/// An inline table of TOML, or only a discipline's name.
fn queue(name: &str, value: &str) -> Result<QueueParams, WireError> {
    #[derive(serde::Deserialize)]
    struct Holder {
        queue: QueueParams,
    }
    if let Some(params) = QueueParams::default_of(value.trim()) {
        return Ok(params);
    }
    let parsed = toml::from_str::<Holder>(&format!("queue = {value}"));
    parsed.map(|h| h.queue).map_err(|e| {
        let known = QueueParams::NAMES.join(", ");
        WireError::plan("arguments", format!("--{name}: {}; disciplines are {known}", e.message()))
    })
}
