//! Memory of the two stages, and what each of them may take of a limit.

use fringes_backend::{Backend, MemoryNeed};
use fringes_channelizer::ChannelizerError;

/// Name of the operation.
pub(super) const OPERATION: &str = "narrowband_f_engine";

/// What the stages need for a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    /// The down-converter's.
    pub(super) first: MemoryNeed,
    /// The F-engine's.
    pub(super) second: MemoryNeed,
    /// Whether both are memory of a device: then each counts the samples between them, else neither does.
    pub(super) on_device: bool,
}

impl Need {
    /// Of a stage each, together.
    fn together(&self, first: u64, second: u64) -> u64 {
        let sum = first.saturating_add(second);
        // On a device what each of them counts: those of the chunk before are kept until the first stage has the next.
        if self.on_device { sum } else { sum.saturating_add(self.first.output_bytes) }
    }

    /// Of the whole.
    pub(super) fn whole(&self) -> MemoryNeed {
        let Self { first, second, .. } = self;
        MemoryNeed {
            input_bytes: first.input_bytes,
            output_bytes: second.output_bytes,
            workspace_bytes: self.together(first.workspace_bytes, second.workspace_bytes),
            smallest_step_bytes: self.together(first.smallest_step_bytes, second.smallest_step_bytes),
        }
    }

    /// What the stages may take of a backend's limit, if it has one: what the other does not need.
    ///
    /// # Errors
    /// [`MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if it does not hold both.
    pub(super) fn limits(&self, backend: &Backend) -> Result<Option<(u64, u64)>, ChannelizerError> {
        let needed = self.whole().smallest_step_bytes;
        backend.check_memory(OPERATION, needed)?;
        Ok(backend.memory_limit().map(|limit| {
            let more = limit - needed;
            let of = |stage: &MemoryNeed| stage.smallest_step_bytes.saturating_add(more);
            (of(&self.first), of(&self.second))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(output_bytes: u64, smallest_step_bytes: u64) -> MemoryNeed {
        MemoryNeed { input_bytes: 7, output_bytes, workspace_bytes: 2 * smallest_step_bytes, smallest_step_bytes }
    }

    #[test]
    fn samples_between_the_stages_count_once_and_twice_on_a_device() {
        for (on_device, smallest, workspace) in [(false, 160, 310), (true, 150, 300)] {
            let need = Need { first: stage(10, 50), second: stage(99, 100), on_device };
            let whole = need.whole();
            assert_eq!((whole.input_bytes, whole.output_bytes), (7, 99));
            assert_eq!((whole.smallest_step_bytes, whole.workspace_bytes), (smallest, workspace));
            let limited = |bytes| need.limits(&Backend::cpu().with_memory_limit(bytes));
            assert!(limited(smallest - 1).is_err());
            assert_eq!(limited(smallest).unwrap(), Some((50, 100)));
            assert_eq!(limited(smallest + 5).unwrap(), Some((55, 105)));
            assert_eq!(need.limits(&Backend::cpu()).unwrap(), None);
        }
    }
}
