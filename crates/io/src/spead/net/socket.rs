//! Sockets, as receivers and senders need them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

use crate::spead::SpeadError;
use crate::spead::error::refused;

/// A socket that receives what is sent to an address, which may be a multicast group. It does not block. With it, the
/// bytes that the system gave for its buffer.
pub(crate) fn receiving(
    address: SocketAddr,
    interface: Option<Ipv4Addr>,
    buffer_bytes: usize,
) -> Result<(UdpSocket, usize), SpeadError> {
    let failed = |action: &str| refused(format!("{address}: {action}"));
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP));
    let socket = socket.map_err(failed("open a socket"))?;
    // The system may give less, up to its limit, which a privileged process may pass: what it gave is told.
    let _ = socket.set_recv_buffer_size(buffer_bytes);
    force_buffer(&socket, buffer_bytes);
    let multicast = address.ip().is_multicast();
    if multicast {
        // Several programs may receive the same group.
        socket.set_reuse_address(true).map_err(failed("share the port"))?;
    }
    let any = match address.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    // Bound to the group, a socket gets nothing of other groups of the port. Windows does not allow it.
    let local = if multicast && cfg!(windows) { SocketAddr::new(any, address.port()) } else { address };
    socket.bind(&local.into()).map_err(failed("bind"))?;
    match address.ip() {
        IpAddr::V4(group) if multicast => {
            let interface = interface.unwrap_or(Ipv4Addr::UNSPECIFIED);
            socket.join_multicast_v4(&group, &interface).map_err(failed("join the multicast group"))?;
        }
        IpAddr::V6(group) if multicast => {
            socket.join_multicast_v6(&group, 0).map_err(failed("join the multicast group"))?;
        }
        _ => (),
    }
    socket.set_nonblocking(true).map_err(failed("make the socket non-blocking"))?;
    let given = socket.recv_buffer_size().map_err(failed("read the size of the socket's buffer"))?;
    Ok((socket.into(), given))
}

/// Sets the size of the buffer beyond the system's limit, where the process may.
#[cfg(target_os = "linux")]
fn force_buffer(socket: &Socket, bytes: usize) {
    let _ = nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::RcvBufForce, &bytes);
}

#[cfg(not(target_os = "linux"))]
fn force_buffer(_: &Socket, _: usize) {}

/// A socket that sends to an address.
pub(crate) fn sending(
    to: SocketAddr,
    interface: Option<Ipv4Addr>,
    buffer_bytes: usize,
    ttl: u32,
) -> Result<UdpSocket, SpeadError> {
    let failed = |action: &str| refused(format!("{to}: {action}"));
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP));
    let socket = socket.map_err(failed("open a socket"))?;
    let _ = socket.set_send_buffer_size(buffer_bytes);
    match to.ip() {
        IpAddr::V4(ip) if ip.is_multicast() => {
            socket.set_multicast_ttl_v4(ttl).map_err(failed("set the time to live"))?;
            if let Some(interface) = interface {
                socket.set_multicast_if_v4(&interface).map_err(failed("choose the interface"))?;
            }
        }
        IpAddr::V6(ip) if ip.is_multicast() => {
            socket.set_multicast_hops_v6(ttl).map_err(failed("set the hop limit"))?;
        }
        _ => (),
    }
    Ok(socket.into())
}
