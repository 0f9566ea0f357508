//! One range of addresses over the memory of several devices.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;
use cudarc::driver::sys;

use crate::buffer::{Memory, Origin};
use crate::driver::{self, Doing};
use crate::view::{byte_size, resolve};
use crate::{Buffer, Device, GpuError};

/// Elements in parts of the same length, one in the memory of each of some devices, at addresses of one range: every
/// one of the devices reads and writes all of them, over the link between the devices where they lie elsewhere.
///
/// ```text
/// device         0                 1                 2
/// part       0             |   1             |   2             |
/// elements   0 .. length       S .. S + length   2 S .. 2 S + length        S = spacing
/// ```
///
/// Part `i` begins [`spacing`](Self::spacing) elements behind part `i - 1`, so that a kernel that writes to all of them
/// knows one address and one distance. A device may come several times.
///
/// A new one's content is whatever was there. As for a [`Buffer`], work of several streams is ordered by the caller,
/// with events, across devices too; memory is freed when all of the devices have done their work.
pub struct SpannedBuffer<T> {
    devices: Vec<Device>,
    range: Range,
    length: usize,
    _element: PhantomData<fn() -> T>,
}

/// A range of addresses, its first parts mapped.
struct Range {
    base: u64,
    /// Bytes of a part.
    spacing: usize,
    parts: usize,
    mapped: usize,
    /// One of each.
    devices: Vec<Device>,
}

impl<T: Pod> SpannedBuffer<T> {
    /// Parts of `length` elements, one on each of the devices.
    ///
    /// # Errors
    /// [`GpuError::Value`] for no devices; [`GpuError::NoPeerAccess`] where one of them does not reach another's
    /// memory; [`GpuError::TooLarge`]; what the driver answers, as for a device without virtual memory.
    pub fn alloc(devices: &[Device], length: usize) -> Result<Self, GpuError> {
        const DOING: &str = "reserving addresses for memory of several devices";
        let Some(first) = devices.first() else {
            let what = "devices of a buffer";
            return Err(GpuError::Value { what, expected: "one at least".into(), actual: "none".into() });
        };
        for (device, peer) in devices.iter().flat_map(|device| devices.iter().map(move |peer| (device, peer))) {
            if !device.can_access_peer(peer)? {
                return Err(GpuError::NoPeerAccess { from: device.context.label(), to: peer.context.label() });
            }
        }
        let too_large = || GpuError::TooLarge { elements: length, element_bytes: size_of::<T>() };
        let bytes = byte_size::<T>(length)?.max(1);
        let mut granularity = size_of::<T>().max(1);
        let mut different: Vec<Device> = Vec::new();
        for device in devices {
            let _entered = device.context.enter()?;
            let (property, mut of_device) = (property(device), 0);
            let recommended = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_RECOMMENDED as u32;
            // SAFETY: both pointers are valid for the call.
            unsafe { driver::cuMemGetAllocationGranularity(&raw mut of_device, &raw const property, recommended) }
                .doing(DOING)?;
            // Both are powers of two, but for sizes of elements that are none.
            if !granularity.is_multiple_of(of_device) {
                granularity = granularity.checked_mul(of_device).ok_or_else(too_large)?;
            }
            if !different.iter().any(|known| known.is_same(device)) {
                different.push(device.clone());
            }
        }
        let spacing = bytes.checked_next_multiple_of(granularity).ok_or_else(too_large)?;
        let all = spacing.checked_mul(devices.len()).filter(|&all| isize::try_from(all).is_ok());
        let all = all.ok_or_else(too_large)?;
        let _entered = first.context.enter()?;
        let mut base = 0;
        // SAFETY: the pointer is valid for the call.
        unsafe { driver::cuMemAddressReserve(&raw mut base, all, 0, 0, 0) }.doing(DOING)?;
        let mut range = Range { base, spacing, parts: devices.len(), mapped: 0, devices: different };
        for device in devices {
            range.map(device)?;
        }
        let accesses: Vec<_> = range.devices.iter().map(access).collect();
        // SAFETY: the range is reserved and mapped, and there are as many descriptions as said.
        unsafe { driver::cuMemSetAccess(base, all, accesses.as_ptr(), accesses.len()) }
            .doing("giving devices access to one another's memory")?;
        Ok(Self { devices: devices.to_vec(), range, length, _element: PhantomData })
    }

    /// The devices, by part.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Elements of a part.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether parts have no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Elements from the first of a part to that of the next.
    #[must_use]
    pub fn spacing(&self) -> usize {
        self.range.spacing / size_of::<T>().max(1)
    }

    /// All elements, what lies between parts among them, as a buffer of one of the devices, which keeps them. There may
    /// be several at once, as of several devices: what they write is ordered by the caller.
    ///
    /// # Errors
    /// [`GpuError::WrongDevice`] for none of the devices.
    pub fn all(self: &Arc<Self>, device: &Device) -> Result<Buffer<T>, GpuError> {
        let (what, actual) = ("a buffer over devices", device.context.label());
        let labels = || self.devices.iter().map(|device| device.context.label()).collect::<Vec<_>>().join(", ");
        let known = self.devices.iter().find(|known| known.is_same(device));
        let device = known.ok_or_else(|| GpuError::WrongDevice { what, expected: labels(), actual })?.clone();
        let length = self.spacing() * self.devices.len();
        let (bytes, origin) = (length * size_of::<T>(), Origin::Kept(self.clone()));
        Ok(Buffer::from_memory(Memory { device, address: self.range.base, bytes, origin }, length))
    }

    /// Some elements of a part as a buffer of its device, which keeps all of them.
    ///
    /// # Errors
    /// [`GpuError::Range`] for elements that there are not.
    pub fn buffer(self: &Arc<Self>, index: usize, elements: std::ops::Range<usize>) -> Result<Buffer<T>, GpuError> {
        let device = self.device(index)?.clone();
        let elements = resolve(&elements, self.length)?;
        let address = self.address(index) + (elements.start * size_of::<T>()) as u64;
        let kept: Arc<dyn Any + Send + Sync> = self.clone();
        let memory = Memory { device, address, bytes: elements.len() * size_of::<T>(), origin: Origin::Kept(kept) };
        Ok(Buffer::from_memory(memory, elements.len()))
    }

    fn device(&self, index: usize) -> Result<&Device, GpuError> {
        let length = self.devices.len();
        self.devices.get(index).ok_or(GpuError::Range { start: index, end: index.saturating_add(1), length })
    }

    fn address(&self, index: usize) -> u64 {
        self.range.base + (index * self.range.spacing) as u64
    }
}

impl<T> std::fmt::Debug for SpannedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let devices: Vec<_> = self.devices.iter().map(|device| device.info().index).collect();
        let element = std::any::type_name::<T>();
        write!(f, "[{element}; {}] at {:#x} of each of GPUs {devices:?}", self.length, self.range.base)
    }
}

fn location(device: &Device) -> sys::CUmemLocation {
    let type_ = sys::CUmemLocationType_enum::CU_MEM_LOCATION_TYPE_DEVICE;
    sys::CUmemLocation { type_, id: i32::try_from(device.info().index).unwrap_or(i32::MAX) }
}

fn access(device: &Device) -> sys::CUmemAccessDesc {
    let flags = sys::CUmemAccess_flags_enum::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    sys::CUmemAccessDesc { location: location(device), flags }
}

fn property(device: &Device) -> sys::CUmemAllocationProp {
    sys::CUmemAllocationProp {
        type_: sys::CUmemAllocationType_enum::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: sys::CUmemAllocationHandleType_enum::CU_MEM_HANDLE_TYPE_NONE,
        location: location(device),
        win32HandleMetaData: std::ptr::null_mut(),
        allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

impl Range {
    /// Maps memory of a device to the next part.
    fn map(&mut self, device: &Device) -> Result<(), GpuError> {
        let doing = || format!("allocating {} bytes of a device at an address of a range", self.spacing);
        let _entered = device.context.enter()?;
        let (property, mut handle) = (property(device), 0);
        // SAFETY: the pointers are valid for the call; the handle is given back below.
        unsafe { driver::cuMemCreate(&raw mut handle, self.spacing, &raw const property, 0) }.doing_with(doing)?;
        let address = self.base + (self.mapped * self.spacing) as u64;
        // SAFETY: the addresses are reserved, within the range and not mapped; the memory has as many bytes.
        let mapped = unsafe { driver::cuMemMap(address, self.spacing, 0, handle, 0) };
        // SAFETY: the handle is the driver's, and given back once; what is mapped stays until it is unmapped.
        driver::report(unsafe { driver::cuMemRelease(handle) }, "giving a handle of memory back");
        mapped.doing_with(doing)?;
        self.mapped += 1;
        Ok(())
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // Unlike freeing, unmapping does not wait for work.
        for device in &self.devices {
            match device.context.enter() {
                Err(error) => tracing::error!("waiting for work on memory of several devices: {error}"),
                // SAFETY: a context is current.
                Ok(_entered) => driver::report(unsafe { driver::cuCtxSynchronize() }, "waiting for a device"),
            }
        }
        let Some(Ok(_entered)) = self.devices.first().map(|device| device.context.enter()) else { return };
        for part in 0..self.mapped {
            let address = self.base + (part * self.spacing) as u64;
            // SAFETY: the part was mapped as a whole, and no work uses it any more.
            driver::report(unsafe { driver::cuMemUnmap(address, self.spacing) }, "unmapping memory");
        }
        // SAFETY: the range was reserved with this size, and nothing is mapped any more.
        driver::report(
            unsafe { driver::cuMemAddressFree(self.base, self.spacing * self.parts) },
            "giving addresses back",
        );
    }
}
