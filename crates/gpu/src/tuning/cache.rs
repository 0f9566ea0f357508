//! What was measured on this machine, kept on disk.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::table::{Entry, Section};
use super::{Choice, DeviceKey, Sizes, folder, text};

/// First line of a file; another version's is not read.
const HEADER: &str = "fringes tuning 1\n";
/// Last line: a file without it was cut off.
const END: &str = "end\n";
/// Largest file that is read, in bytes.
const LARGEST: u64 = 4 << 20;

/// Choices that were measured, in one file for a device, a driver and the sources of kernels.
///
/// Whatever is wrong with the file, or with writing it, is reported through `tracing` and otherwise as if there were
/// none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    path: PathBuf,
    name: String,
    compute_capability: (u32, u32),
}

impl Cache {
    /// The cache of a device for kernels whose sources have this hash ([`source_hash`](super::source_hash)), in the
    /// folder that the environment says; `None` if there is to be none.
    #[must_use]
    pub fn open(device: &DeviceKey, source_hash: &str) -> Option<Self> {
        folder::folder().map(|folder| Self::inside(&folder, device, source_hash))
    }

    /// As [`Cache::open`], in a folder, which is made when something is kept.
    #[must_use]
    pub fn inside(folder: &Path, device: &DeviceKey, source_hash: &str) -> Self {
        let plain = |text: &str| -> String {
            text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
        };
        let (major, minor) = device.driver_version;
        let file = format!("tuning-{}-cuda-{major}-{minor}-{}.txt", plain(&device.name), plain(source_hash));
        Self { path: folder.join(file), name: device.name.clone(), compute_capability: device.compute_capability }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was measured for a kernel and the class of sizes.
    #[must_use]
    pub fn find(&self, kernel: &str, sizes: &Sizes) -> Option<Choice> {
        let sizes = sizes.classes();
        let entries = self.entries();
        entries.into_iter().rev().find(|entry| entry.kernel == kernel && entry.sizes == sizes).map(|entry| entry.choice)
    }

    /// Keeps a choice for a kernel and the class of sizes, in place of an earlier one.
    ///
    /// The file is replaced at once, so that no reader sees half of it. Of two programs that write at the same moment
    /// one may be forgotten: it will be measured again.
    pub fn keep(&self, kernel: &str, sizes: &Sizes, choice: &Choice, note: &str) {
        let (sizes, kernel) = (sizes.classes(), kernel.to_owned());
        let mut entries = self.entries();
        entries.retain(|entry| entry.kernel != kernel || entry.sizes != sizes);
        entries.push(Entry { kernel, sizes, choice: choice.clone(), note: note.into() });
        let section = Section { name: self.name.clone(), compute_capability: self.compute_capability, entries };
        let text = format!("{HEADER}{}{END}", text::write(&[section]));
        if let Err(error) = self.replace(text.as_bytes()) {
            tracing::warn!(path = %self.path.display(), %error, "a measurement cannot be kept");
        }
    }

    /// All entries; none of a file that is not whole.
    fn entries(&self) -> Vec<Entry> {
        let text = match self.text() {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "kept measurements cannot be read");
                return Vec::new();
            }
        };
        let Some(text) = text.strip_prefix(HEADER).and_then(|rest| rest.strip_suffix(END)) else {
            tracing::warn!(path = %self.path.display(), "not a whole file of measurements");
            return Vec::new();
        };
        let sections = text::read(text, |error| {
            tracing::warn!(path = %self.path.display(), %error, "a kept measurement is left out");
            Ok(())
        });
        let of_device =
            |section: &Section| section.name == self.name && section.compute_capability == self.compute_capability;
        sections.unwrap_or_default().into_iter().filter(of_device).flat_map(|section| section.entries).collect()
    }

    fn text(&self) -> io::Result<String> {
        let mut text = String::new();
        fs::File::open(&self.path)?.take(LARGEST).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Puts a new file in the place of the old one.
    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let new = self.path.with_extension(format!("{}-{number}.new", std::process::id()));
        let written = fs::File::create_new(&new).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        let replaced = written.and_then(|()| fs::rename(&new, &self.path));
        if replaced.is_err() {
            let _ = fs::remove_file(&new); // the first error is what is told
        }
        replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is gone after the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("fringes-cache-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            Self(folder)
        }

        fn cache(&self) -> Cache {
            Cache::inside(&self.0, &DeviceKey::new("NVIDIA H200", (9, 0), (13, 0)), "00ff")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn sizes(channels: usize) -> Sizes {
        Sizes::new(&[("channels", channels), ("inputs", 130)])
    }

    fn choice(parts: u64) -> Choice {
        Choice::new("sm_90a").with("parts", parts)
    }

    #[test]
    fn what_is_kept_is_found_for_the_class_of_sizes_alone() {
        let folder = Folder::new("found");
        let cache = folder.cache();
        assert_eq!(cache.find("correlate_i8", &sizes(64)), None);
        cache.keep("correlate_i8", &sizes(64), &choice(4), "0.1 ms");
        cache.keep("correlate_i8", &sizes(65), &choice(3), "");
        cache.keep("correlate_f16", &sizes(64), &choice(7), "");
        cache.keep("correlate_i8", &sizes(60), &choice(5), ""); // the class of 64, again
        assert_eq!(cache.find("correlate_i8", &sizes(63)), Some(choice(5)));
        assert_eq!(cache.find("correlate_i8", &sizes(96)), Some(choice(3)));
        assert_eq!(cache.find("correlate_f16", &sizes(64)), Some(choice(7)));
        assert_eq!(cache.find("correlate_i8", &sizes(97)), None);
        assert_eq!(cache.find("correlate_i8", &Sizes::new(&[("channels", 64)])), None);
        // No file but the one.
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }

    #[test]
    fn another_device_driver_or_source_is_another_file() {
        let folder = Folder::new("other");
        let device = DeviceKey::new("NVIDIA H200", (9, 0), (13, 0));
        let path = |device: &DeviceKey, source: &str| Cache::inside(&folder.0, device, source).path().to_owned();
        let one = path(&device, "00ff");
        assert!(one.ends_with("tuning-nvidia-h200-cuda-13-0-00ff.txt"), "{}", one.display());
        assert_ne!(one, path(&device, "00fe"));
        assert_ne!(one, path(&DeviceKey::new("NVIDIA H100", (9, 0), (13, 0)), "00ff"));
        assert_ne!(one, path(&DeviceKey::new("NVIDIA H200", (9, 0), (13, 1)), "00ff"));
        // A name cannot leave the folder.
        assert_eq!(path(&DeviceKey::new("../../x", (9, 0), (13, 0)), "../y").parent(), Some(folder.0.as_path()));
    }

    #[test]
    fn a_file_that_is_not_whole_counts_as_empty_and_is_replaced() {
        let folder = Folder::new("corrupt");
        let cache = folder.cache();
        cache.keep("correlate_i8", &sizes(64), &choice(16), "");
        let whole = fs::read(cache.path()).unwrap();
        assert!(cache.find("correlate_i8", &sizes(64)).is_some());
        let mut faults: Vec<Vec<u8>> = (0..whole.len()).map(|length| whole[..length].to_vec()).collect(); // cut off anywhere
        faults.extend([vec![0xff; 100], vec![0; 4096], b"fringes tuning 2\nend\n".to_vec(), b"end\n".to_vec()]);
        for fault in faults {
            fs::write(cache.path(), &fault).unwrap();
            assert_eq!(cache.find("correlate_i8", &sizes(64)), None, "{:?}", String::from_utf8_lossy(&fault));
        }
        cache.keep("correlate_i8", &sizes(64), &choice(2), "");
        assert_eq!(cache.find("correlate_i8", &sizes(64)), Some(choice(2)));
    }

    #[test]
    fn any_byte_may_be_wrong() {
        let folder = Folder::new("bytes");
        let cache = folder.cache();
        cache.keep("correlate_i8", &sizes(64), &choice(16), "");
        cache.keep("correlate_i8", &sizes(999), &choice(1), "");
        let whole = fs::read(cache.path()).unwrap();
        for place in 0..whole.len() {
            for byte in [0, b'\n', b'=', b'#', b'[', 0xff] {
                let mut fault = whole.clone();
                fault[place] = byte;
                fs::write(cache.path(), &fault).unwrap();
                let _ = cache.find("correlate_i8", &sizes(64)); // anything but a panic
            }
        }
    }

    #[test]
    fn a_folder_that_cannot_be_is_no_error() {
        let folder = Folder::new("impossible");
        fs::write(&folder.0, "a file where the folder would be").unwrap();
        let cache = folder.cache();
        cache.keep("correlate_i8", &sizes(64), &choice(4), "");
        assert_eq!(cache.find("correlate_i8", &sizes(64)), None);
        fs::remove_file(&folder.0).unwrap();
        fs::create_dir_all(cache.path()).unwrap(); // a folder where the file would be
        cache.keep("correlate_i8", &sizes(64), &choice(4), "");
        assert_eq!(cache.find("correlate_i8", &sizes(64)), None);
    }

    #[test]
    fn readers_never_see_half_a_file() {
        let folder = Folder::new("threads");
        let cache = folder.cache();
        cache.keep("correlate_i8", &sizes(64), &choice(4), "");
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let cache = &cache;
                scope.spawn(move || (0..30).for_each(|n| cache.keep("other", &sizes(1 << thread), &choice(n), "")));
            }
            // Written before, and kept by every writer that read it.
            (0..200).for_each(|_| assert_eq!(cache.find("correlate_i8", &sizes(64)), Some(choice(4))));
        });
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }
}
