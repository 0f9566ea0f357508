//! Where the cache is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variable that moves the cache, or with `off` turns it off.
pub const CACHE_VARIABLE: &str = "FRINGES_CACHE";

/// The cache's folder as the environment says; `None` if there is to be none.
pub(super) fn folder() -> Option<PathBuf> {
    folder_of(|variable| std::env::var_os(variable))
}

/// `FRINGES_CACHE`, or else `fringes` in `XDG_CACHE_HOME` or `~/.cache`. Relative paths of XDG do not count, as its
/// specification says.
fn folder_of(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable(CACHE_VARIABLE) {
        return (!folder.is_empty() && folder != "off").then(|| folder.into());
    }
    let absolute = |name| set(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    base.or_else(|| absolute("LOCALAPPDATA")).map(|base: PathBuf| Path::join(&base, "fringes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_where_the_environment_says() {
        let folder = |variables: &[(&str, &str)]| {
            let get =
                |name: &str| variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.into());
            folder_of(get).map(|folder| folder.to_string_lossy().into_owned())
        };
        assert_eq!(folder(&[]), None);
        assert_eq!(folder(&[("HOME", "/h")]), Some("/h/.cache/fringes".into()));
        let both = [("HOME", "/h"), ("XDG_CACHE_HOME", "/c")];
        assert_eq!(folder(&both), Some("/c/fringes".into()));
        assert_eq!(folder(&[("HOME", "/h"), ("XDG_CACHE_HOME", "c")]), Some("/h/.cache/fringes".into()));
        assert_eq!(folder(&[("HOME", "/h"), ("FRINGES_CACHE", "/f")]), Some("/f".into()));
        for off in ["off", ""] {
            assert_eq!(folder(&[("HOME", "/h"), ("FRINGES_CACHE", off)]), None);
        }
    }
}
