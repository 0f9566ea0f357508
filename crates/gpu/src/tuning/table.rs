//! Committed choices, by device and size.

use super::text::{self, TableError};
use super::{Choice, DeviceKey, Sizes};

/// What was measured on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Name of the device.
    pub name: String,
    /// Its compute capability.
    pub compute_capability: (u32, u32),
    /// Choices.
    pub entries: Vec<Entry>,
}

/// The choice for a kernel at a size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The kernel or operation.
    pub kernel: String,
    /// Its sizes.
    pub sizes: Sizes,
    /// What is best there.
    pub choice: Choice,
    /// What is written behind it for people, such as the time. Not read back.
    pub note: String,
}

/// Choices for some devices and sizes, as a text that is committed:
///
/// ```text
/// [NVIDIA H200, 9.0]
/// correlate_i8 channels=64 inputs=128 times=4096 -> sm_90a parts=4 # 0.021 ms
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    sections: Vec<Section>,
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    /// [`TableError`] with the first line that is none of a table.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        Ok(Self { sections: text::read(text, Err)? })
    }

    /// Reads a table whose lines that cannot be read are reported through `tracing` and left out, as a program wants
    /// that has nothing better; a test holds the committed text to [`Table::parse`].
    #[must_use]
    pub fn parse_or_skip(text: &str) -> Self {
        let warn = |error: TableError| {
            tracing::warn!(%error, "a line of a tuning table is left out");
            Ok(())
        };
        Self { sections: text::read(text, warn).unwrap_or_default() }
    }

    /// The sections, in their order.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The choice for the nearest sizes: each within a factor of 2, the sum of the factors' logarithms least, and the
    /// first of equal ones. From sections of this device, or else of others of its compute capability.
    #[must_use]
    pub fn find(&self, device: &DeviceKey, kernel: &str, sizes: &Sizes) -> Option<&Choice> {
        let of = |exact: bool| {
            let sections = self.sections.iter().filter(move |section| {
                (section.name == device.name) == exact && section.compute_capability == device.compute_capability
            });
            let entries = sections.flat_map(|section| &section.entries).filter(|entry| entry.kernel == kernel);
            let near = entries.filter_map(|entry| Some((entry.sizes.distance(sizes)?, &entry.choice)));
            near.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, choice)| choice)
        };
        of(true).or_else(|| of(false))
    }

    /// Puts entries in place of all of a device's for these kernels, keeping other devices' and other kernels' as they
    /// are.
    pub fn replace(&mut self, device: &DeviceKey, kernels: &[&str], entries: Vec<Entry>) {
        let same = |section: &&mut Section| {
            section.name == device.name && section.compute_capability == device.compute_capability
        };
        if let Some(section) = self.sections.iter_mut().find(same) {
            section.entries.retain(|entry| !kernels.contains(&entry.kernel.as_str()));
            section.entries.extend(entries);
        } else {
            let (name, compute_capability) = (device.name.clone(), device.compute_capability);
            self.sections.push(Section { name, compute_capability, entries });
        }
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text::write(&self.sections))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# times by events
[NVIDIA H200, 9.0]
correlate_i8 channels=64 inputs=128 times=4096 -> sm_90a parts=4 # 0.021 ms
correlate_i8 channels=64 inputs=256 times=4096 -> sm_90a parts=2
  pack_i8 inputs=64 -> wide

[NVIDIA A100, 8.0]
correlate_i8 channels=64 inputs=128 times=4096 -> sm_80 parts=3
";

    fn device(name: &str, capability: (u32, u32)) -> DeviceKey {
        DeviceKey::new(name, capability, (13, 0))
    }

    fn sizes(channels: usize, inputs: usize, times: usize) -> Sizes {
        Sizes::new(&[("channels", channels), ("inputs", inputs), ("times", times)])
    }

    #[test]
    fn the_nearest_entry_of_the_device_or_its_kind_is_found() {
        let table = Table::parse(TEXT).unwrap();
        let find = |name, capability, kernel, sizes| {
            table.find(&device(name, capability), kernel, &sizes).map(ToString::to_string)
        };
        let h200 = |inputs| find("NVIDIA H200", (9, 0), "correlate_i8", sizes(50, inputs, 8192));
        assert_eq!(h200(150), Some("sm_90a parts=4".into()));
        assert_eq!(h200(230), Some("sm_90a parts=2".into()));
        assert_eq!(h200(63), None);
        assert_eq!(find("NVIDIA H100", (9, 0), "correlate_i8", sizes(64, 128, 4096)), Some("sm_90a parts=4".into()));
        assert_eq!(find("NVIDIA A100", (8, 0), "correlate_i8", sizes(64, 128, 4096)), Some("sm_80 parts=3".into()));
        assert_eq!(find("NVIDIA H200", (8, 6), "correlate_i8", sizes(64, 128, 4096)), None);
        assert_eq!(find("NVIDIA H200", (9, 0), "correlate_f16", sizes(64, 128, 4096)), None);
        let pack = find("NVIDIA H200", (9, 0), "pack_i8", Sizes::new(&[("inputs", 64)]));
        assert_eq!(pack, Some("wide".into()));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut table = Table::parse(TEXT).unwrap();
        assert_eq!(Table::parse(&table.to_string()).as_ref(), Ok(&table));
        let entry = |choice: Choice| Entry {
            kernel: "correlate_i8".into(),
            sizes: sizes(1, 2, 3),
            choice,
            note: "0.5 ms\n[evil]".into(),
        };
        let h200 = device("NVIDIA H200", (9, 0));
        table.replace(&h200, &["correlate_i8"], vec![entry(Choice::new("sm_80"))]);
        table.replace(&device("Other", (12, 0)), &["correlate_i8"], vec![entry(Choice::new("x").with("y", 7))]);
        let again = Table::parse(&table.to_string()).unwrap();
        assert_eq!(again.sections().len(), 3);
        assert_eq!(again.find(&h200, "correlate_i8", &sizes(1, 2, 3)), Some(&Choice::new("sm_80")));
        assert_eq!(again.find(&h200, "correlate_i8", &sizes(64, 128, 4096)), None);
        assert!(again.find(&h200, "pack_i8", &Sizes::new(&[("inputs", 64)])).is_some());
    }

    #[test]
    fn a_line_that_is_none_of_a_table_is_named_or_left_out() {
        for (line, expected) in [
            ("[NVIDIA H200]", "[name, major.minor]"),
            ("[NVIDIA H200, 9.x]", "[name, major.minor]"),
            ("[NVIDIA H200, +9.0]", "[name, major.minor]"),
            ("correlate_i8 channels=64", "kernel size=n ... -> variant parameter=n ..."),
            ("correlate_i8 channels=64 ->", "kernel size=n ... -> variant parameter=n ..."),
            ("correlate_i8 channels -> a", "kernel size=n ... -> variant parameter=n ..."),
            ("correlate_i8 channels=1 channels=2 -> a", "kernel size=n ... -> variant parameter=n ..."),
            ("correlate_i8 channels=-1 -> a", "kernel size=n ... -> variant parameter=n ..."),
            ("k n=99999999999999999999 -> a", "kernel size=n ... -> variant parameter=n ..."),
            ("\u{0}\u{1f600} -> ->", "kernel size=n ... -> variant parameter=n ..."),
        ] {
            let text = format!("{TEXT}{line}\n");
            let error = Table::parse(&text).unwrap_err();
            assert_eq!((error.line, error.expected), (9, expected), "{line}");
            assert_eq!(Table::parse_or_skip(&text), Table::parse(TEXT).unwrap(), "{line}");
        }
        let error = Table::parse("k n=1 -> a").unwrap_err();
        assert_eq!(error.expected, "a [name, major.minor] before the first entry");
    }
}
