//! Many packets a system call.
//!
//! On Linux packets come by `recvmmsg`, and the system may join packets that follow each other (UDP GRO): both are
//! reached through `nix`. They go out as one buffer that the system cuts (UDP GSO). Elsewhere, and where the system
//! does not know these, a packet is a call.

use std::io;
use std::net::{SocketAddr, UdpSocket};

/// Largest buffer that the system hands over at once: joined packets, or one.
const SLOT: usize = 1 << 16;

/// Buffers for one call.
#[derive(Debug)]
pub(crate) struct Batch {
    buffer: Vec<u8>,
}

impl Batch {
    pub(crate) fn new(slots: usize) -> Self {
        Self { buffer: vec![0; slots.max(1) * SLOT] }
    }
}

/// What a call brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Arrived {
    /// Buffers: 0 if nothing was there.
    pub(crate) buffers: usize,
    /// The socket's count of packets that the system dropped, where it tells.
    pub(crate) dropped: Option<u32>,
}

/// Gives the packets of a buffer in which each but the last has `segment` bytes.
fn segments(buffer: &[u8], segment: Option<usize>, take: &mut impl FnMut(&[u8])) {
    match segment.filter(|&bytes| bytes > 0) {
        Some(bytes) => buffer.chunks(bytes).for_each(take),
        None => take(buffer),
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::*;
    use std::os::fd::{AsFd as _, AsRawFd as _};
    use std::time::Duration;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::socket::{
        ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, sendmsg, setsockopt,
        sockopt,
    };

    /// Asks the system to join packets, and to tell what it drops; it need not know either.
    pub(crate) fn prepare(socket: &UdpSocket) {
        let _ = setsockopt(socket, sockopt::UdpGroSegment, &true);
        let _ = setsockopt(socket, sockopt::RxqOvfl, &1);
    }

    impl Batch {
        /// Takes the packets that are there, without waiting.
        pub(crate) fn receive(&mut self, socket: &UdpSocket, mut take: impl FnMut(&[u8])) -> io::Result<Arrived> {
            let mut slots: Vec<[io::IoSliceMut<'_>; 1]> =
                self.buffer.chunks_exact_mut(SLOT).map(|slot| [io::IoSliceMut::new(slot)]).collect();
            // The system shortens what it is told of control messages, so headers serve once.
            let space = nix::cmsg_space!(i32, u32);
            let mut headers = MultiHeaders::<()>::preallocate(slots.len(), Some(space));
            let flags = MsgFlags::MSG_DONTWAIT;
            let messages = match recvmmsg(socket.as_raw_fd(), &mut headers, slots.iter_mut(), flags, None) {
                Ok(messages) => messages,
                Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => return Ok(Arrived::default()),
                Err(error) => return Err(error.into()),
            };
            let mut arrived = Arrived::default();
            for message in messages {
                arrived.buffers += 1;
                let mut segment = None;
                for control in message.cmsgs().into_iter().flatten() {
                    match control {
                        ControlMessageOwned::UdpGroSegments(bytes) => segment = usize::try_from(bytes).ok(),
                        ControlMessageOwned::RxqOvfl(dropped) => arrived.dropped = Some(dropped),
                        _ => (),
                    }
                }
                // A packet without bytes has no slice.
                segments(message.iovs().next().unwrap_or_default(), segment, &mut take);
            }
            Ok(arrived)
        }
    }

    /// Waits until a socket has a packet, for at most a time.
    pub(crate) fn wait(sockets: &[UdpSocket], time: Duration) {
        let mut polled: Vec<PollFd<'_>> =
            sockets.iter().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
        let time = PollTimeout::try_from(time).unwrap_or(PollTimeout::ZERO);
        let _ = poll(&mut polled, time);
    }

    /// Sends a buffer that the system cuts into packets of `segment` bytes. `false` if it does not do that here.
    pub(crate) fn send_segments(socket: &UdpSocket, to: SocketAddr, buffer: &[u8], segment: u16) -> io::Result<bool> {
        use nix::errno::Errno;
        let (slices, cut) = ([io::IoSlice::new(buffer)], [ControlMessage::UdpGsoSegments(&segment)]);
        let to = SockaddrStorage::from(to);
        loop {
            return match sendmsg(socket.as_raw_fd(), &slices, &cut, MsgFlags::empty(), Some(&to)) {
                Ok(_) => Ok(true),
                Err(Errno::EINTR) => continue,
                Err(Errno::EINVAL | Errno::EIO | Errno::EMSGSIZE | Errno::EOPNOTSUPP | Errno::ENOPROTOOPT) => Ok(false),
                Err(error) => Err(error.into()),
            };
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::*;
    use std::time::Duration;

    pub(crate) fn prepare(_socket: &UdpSocket) {}

    impl Batch {
        /// Takes a packet if one is there.
        pub(crate) fn receive(&mut self, socket: &UdpSocket, mut take: impl FnMut(&[u8])) -> io::Result<Arrived> {
            match socket.recv(&mut self.buffer) {
                Ok(bytes) => {
                    segments(&self.buffer[..bytes], None, &mut take);
                    Ok(Arrived { buffers: 1, dropped: None })
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    Ok(Arrived::default())
                }
                Err(error) => Err(error),
            }
        }
    }

    /// Waits a little.
    pub(crate) fn wait(_sockets: &[UdpSocket], time: Duration) {
        std::thread::sleep(time.min(Duration::from_micros(500)));
    }

    pub(crate) fn send_segments(_: &UdpSocket, _: SocketAddr, _: &[u8], _: u16) -> io::Result<bool> {
        Ok(false)
    }
}

pub(crate) use system::{prepare, send_segments, wait};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_packets_come_apart() {
        let mut lengths = Vec::new();
        segments(&[0; 25], Some(10), &mut |packet: &[u8]| lengths.push(packet.len()));
        segments(&[0; 25], None, &mut |packet: &[u8]| lengths.push(packet.len()));
        segments(&[0; 25], Some(0), &mut |packet: &[u8]| lengths.push(packet.len()));
        assert_eq!(lengths, [10, 10, 5, 25, 25]);
    }
}
