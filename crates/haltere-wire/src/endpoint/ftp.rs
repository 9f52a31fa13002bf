//! FTP uploads: our client and a real server in the other host's namespace.
//! Source: RFC 959, passive mode, image type; the dialogue is that of the simulator's `ftp`, the replies come
//! from the server.
//! Model: each reply triggers the client's next command:
//!
//! ```text
//!   220 ─▶ USER   331 ─▶ PASS   230 ─▶ TYPE I   200 ─▶ PASV   227 ─▶ connect data ─▶ STOR
//!   150 ─▶ the file, then FIN   226: the task is done ─▶ QUIT
//! ```
//!
//! A connection that ends before the 226 fails the task, which starts again with new connections after a short pause.
//! Client packets carry the task's mark (DSCP for short or long); the server answers with that of the SYN
//! (`tcp_reflect_tos`).
//! Units: bytes, times of the run. Known problems: when a task of a loop is done the next begins without waiting for
//! the 221.

use super::socket;
use super::{Context, Done, Endpoint, Observed, Opened, Opening, Side};
use crate::error::WireError;
use crate::kernel_tcp::TcpInfo;
use crate::namespace::node_address;
use haltere_plan::plan::{FtpPlan, Work};
use haltere_plan::record::TaskRecord;
use haltere_plan::rng::Rng;
use haltere_queue::classify::{DSCP_LONG, DSCP_SHORT};
use haltere_units::{Bytes, Dur, Time};
use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{MsgFlags, Shutdown, getsockopt, recv, send, setsockopt, shutdown, sockopt};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

const FTP_PORT: u16 = 21;
/// Pause between a failure and the next attempt, so that a server that refuses at once is not flooded.
const PAUSE: Dur = Dur::from_ms(100);

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p FtpPlan, at: Opening<'p>) -> Opened<'p> {
    Ok(Box::new(Uploads::new(plan, at)))
}

/// One unfinished task.
#[derive(Debug)]
struct Task {
    record: TaskRecord,
    control: OwnedFd,
    data: Option<OwnedFd>,
    /// Bytes of the control connection that are not yet a whole line.
    heard: Vec<u8>,
    /// Bytes of the file not yet written.
    unwritten: u64,
    /// The data connection is established, and STOR was said.
    said_stor: bool,
    /// The server waits for the file.
    is_open: bool,
}

/// A flow of uploads.
#[derive(Debug)]
pub(super) struct Uploads<'p> {
    at: Opening<'p>,
    plan: &'p FtpPlan,
    files: Rng,
    task: Option<Task>,
    /// The task that failed, until its next attempt.
    waiting: Option<TaskRecord>,
    done: Vec<TaskRecord>,
    /// Bytes of the files that are done.
    stored: u64,
}

impl<'p> Uploads<'p> {
    fn new(plan: &'p FtpPlan, at: Opening<'p>) -> Uploads<'p> {
        // The simulator's stream of that name: both worlds draw the same files.
        let files = Rng::new(at.seed, &format!("{}/files", at.flow.name));
        Uploads { at, plan, files, task: None, waiting: None, done: Vec::new(), stored: 0 }
    }
    /// The next task begins.
    fn next_task(&mut self, context: &Context<'_>, at: Time) -> Done {
        let bytes = match &self.plan.work {
            Work::One(bytes) => *bytes,
            Work::Loop(files) => files[self.files.below(files.len() as u64) as usize],
        };
        let record = TaskRecord { flow: self.at.index as u32, bytes, start: at, data: None, end: None, failures: 0 };
        self.begin(context, record)
    }
    fn begin(&mut self, context: &Context<'_>, record: TaskRecord) -> Done {
        let control = self.connect(SocketAddrV4::new(node_address(self.at.flow.to), FTP_PORT), record.bytes)?;
        context.watch(control.as_fd(), Side::Sender, EpollFlags::EPOLLIN)?;
        let unwritten = record.bytes.as_u64();
        let (heard, said_stor, is_open) = (Vec::new(), false, false);
        self.task = Some(Task { record, control, data: None, heard, unwritten, said_stor, is_open });
        Ok(())
    }
    /// Begins a connection to that address, with the DSCP of the file's size.
    fn connect(&self, to: SocketAddrV4, bytes: Bytes) -> Result<OwnedFd, WireError> {
        let tcp = &self.plan.tcp;
        let dscp = if bytes <= self.plan.short { DSCP_SHORT } else { DSCP_LONG };
        self.at.connection(self.at.from, (None, to), tcp, |socket| {
            setsockopt(socket, sockopt::Ipv4Tos, &(i32::from(dscp) << 2))?;
            setsockopt(socket, sockopt::TcpNoDelay, &true)?;
            socket::set_buffers(socket, tcp.sender.send_buffer, None)
        })
    }
    fn fail(&mut self, context: &Context<'_>) {
        if let Some(task) = self.task.take() {
            task.forget(context);
            self.waiting = Some(TaskRecord { failures: task.record.failures + 1, ..task.record });
            context.tick_at(context.now + PAUSE);
        }
    }
    /// Reads replies. False: the connection is gone.
    fn hear(&mut self, context: &Context<'_>) -> Result<bool, WireError> {
        let mut buffer = [0; 2048];
        loop {
            let Some(task) = &mut self.task else { return Ok(true) };
            match recv(task.control.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(0) => return Ok(false),
                Ok(n) => task.heard.extend_from_slice(&buffer[..n]),
                Err(Errno::EAGAIN | Errno::EINTR) => return Ok(true),
                Err(_) => return Ok(false),
            }
            while let Some((code, line)) = self.task.as_mut().and_then(Task::take_reply) {
                if !self.on_reply(context, code, &line)? {
                    return Ok(false);
                }
            }
        }
    }
    fn on_reply(&mut self, context: &Context<'_>, code: u16, line: &str) -> Result<bool, WireError> {
        let Some(task) = &mut self.task else { return Ok(true) };
        Ok(match code {
            220 => task.say("USER anonymous\r\n"),
            331 => task.say("PASS anonymous@\r\n"),
            230 => task.say("TYPE I\r\n"),
            200 => task.say("PASV\r\n"),
            227 => {
                let Some(address) = passive_address(line) else { return Ok(false) };
                let bytes = task.record.bytes;
                task.record.data = Some(context.now);
                let data = self.connect(address, bytes)?;
                context.watch(data.as_fd(), Side::Receiver, EpollFlags::EPOLLOUT)?;
                if let Some(task) = &mut self.task {
                    task.data = Some(data);
                }
                true
            }
            125 | 150 => {
                task.is_open = true;
                if let Some(data) = &task.data {
                    context.watch(data.as_fd(), Side::Receiver, EpollFlags::EPOLLOUT)?;
                }
                true
            }
            226 | 250 => {
                task.say("QUIT\r\n");
                self.finish(context)?;
                true
            }
            _ => false,
        })
    }
    fn finish(&mut self, context: &Context<'_>) -> Done {
        let Some(task) = self.task.take() else { return Ok(()) };
        task.forget(context);
        // Our FIN follows the QUIT, and the server closes.
        let _ = shutdown(task.control.as_raw_fd(), Shutdown::Write);
        self.stored += task.record.bytes.as_u64();
        self.done.push(TaskRecord { end: Some(context.now), ..task.record });
        let is_over = self.at.flow.stop.is_some_and(|stop| context.now >= stop);
        if matches!(self.plan.work, Work::Loop(_)) && !is_over {
            return self.next_task(context, context.now);
        }
        Ok(())
    }
    /// The data connection can be written: says STOR when it is established, writes when the server waits for the file.
    fn move_file(&mut self, context: &Context<'_>) -> bool {
        let Some(task) = &mut self.task else { return true };
        let Some(data) = &task.data else { return true };
        if getsockopt(data, sockopt::SocketError).unwrap_or(1) != 0 {
            return false;
        }
        if !task.said_stor {
            task.said_stor = true;
            context.forget(data.as_fd());
            return task.say("STOR file0001\r\n");
        }
        while task.is_open && task.unwritten > 0 {
            match socket::write(data, task.unwritten) {
                Ok(Some(n)) => task.unwritten -= n,
                Ok(None) => return true,
                Err(socket::Dead) => return false,
            }
        }
        context.forget(data.as_fd());
        // Already gone: the 226 or the end of the control connection tells what became of it.
        let _ = shutdown(data.as_raw_fd(), Shutdown::Write);
        true
    }
}

impl Endpoint for Uploads<'_> {
    fn start(&mut self, context: &Context<'_>, at: Time, _observed: &mut Observed) -> Done {
        self.next_task(context, at)
    }
    /// A task that failed begins again.
    fn tick(&mut self, context: &Context<'_>, _at: Time, _observed: &mut Observed) -> Done {
        match self.waiting.take() {
            Some(record) => self.begin(context, record),
            None => Ok(()),
        }
    }
    fn ready(&mut self, context: &Context<'_>, side: Side, _: EpollFlags, _: &mut Observed) -> Done {
        let went = match side {
            Side::Sender => self.hear(context)?,
            _ => self.move_file(context),
        };
        if !went {
            self.fail(context);
        }
        Ok(())
    }
    /// File bytes that have come to the server.
    fn received(&self) -> Option<u64> {
        let data = self.task.as_ref().and_then(|task| task.data.as_ref());
        let info = data.and_then(|data| TcpInfo::of(data.as_fd()).ok());
        let bytes = self.task.as_ref().map_or(0, |task| task.record.bytes.as_u64());
        // The FIN counts as a byte there.
        Some(self.stored + info.map_or(0, |info| info.info().acked.min(bytes)))
    }
    /// The tasks, the one that did not end as the last.
    fn finish(&mut self, observed: &mut Observed) {
        let unfinished = self.task.as_ref().map(|task| task.record).or(self.waiting);
        observed.tasks.extend(self.done.iter().copied().chain(unfinished));
    }
}

impl Task {
    /// Sends a line. False: the connection is gone.
    fn say(&self, line: &str) -> bool {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        send(self.control.as_raw_fd(), line.as_bytes(), flags) == Ok(line.len())
    }
    /// The next whole reply; lines that continue one (`220-`) are skipped.
    fn take_reply(&mut self) -> Option<(u16, String)> {
        loop {
            let end = self.heard.iter().position(|byte| *byte == b'\n')?;
            let line = String::from_utf8_lossy(&self.heard[..end]).into_owned();
            self.heard.drain(..=end);
            if let Some((code, " ")) = line.get(..3).zip(line.get(3..4))
                && let Ok(code) = code.parse()
            {
                return Some((code, line));
            }
        }
    }
    fn forget(&self, context: &Context<'_>) {
        context.forget(self.control.as_fd());
        if let Some(data) = &self.data {
            context.forget(data.as_fd());
        }
    }
}

/// The address in `227 Entering passive mode (10,72,0,4,195,80).`
fn passive_address(line: &str) -> Option<SocketAddrV4> {
    let inside = line.split_once('(')?.1.split_once(')')?.0;
    let numbers = inside.split(',').map(|n| n.trim().parse().ok()).collect::<Option<Vec<u8>>>()?;
    let [a, b, c, d, high, low] = numbers[..] else { return None };
    Some(SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_227_is_read_and_nonsense_is_none() {
        let line = "227 Entering passive mode (10,72,0,4,195,80).\r";
        assert_eq!(passive_address(line), Some(SocketAddrV4::new(Ipv4Addr::new(10, 72, 0, 4), 50_000)));
        for bad in ["227 ok", "227 (1,2,3)", "227 (1,2,3,4,5,256)", "227 (a,b,c,d,e,f)"] {
            assert_eq!(passive_address(bad), None);
        }
    }
}
