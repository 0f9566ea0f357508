//! Which source kernels were made from.

/// A short name of the sources that a PTX manifest tells (`"source_sha256": "..."`, once for each text): another one as
/// soon as any of them changes, so that what was measured with other kernels is not found.
#[must_use]
pub fn source_hash(manifests: &[&str]) -> String {
    // FNV-1a: no secret is kept by it.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for manifest in manifests {
        for rest in manifest.split("\"source_sha256\"").skip(1) {
            let value = rest.split('"').nth(1).unwrap_or_default();
            for byte in value.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::source_hash;

    #[test]
    fn the_hash_changes_with_every_source_and_with_nothing_else() {
        let manifest = |source: &str, output: &str| {
            format!("{{\"output_sha256\": \"{output}\",\n  \"source_sha256\": \"{source}\",\n \"target\": \"sm_80\"}}")
        };
        let one = source_hash(&[&manifest("12ab", "9")]);
        assert_eq!(one.len(), 16);
        assert_eq!(one, source_hash(&[&manifest("12ab", "8")]));
        assert_ne!(one, source_hash(&[&manifest("12ac", "9")]));
        let two = [manifest("12ab", "9"), manifest("34", "9")];
        assert_ne!(one, source_hash(&[&two[0], &two[1]]));
        assert_ne!(source_hash(&[&two[1], &two[0]]), source_hash(&[&two[0], &two[1]]));
        assert_eq!(source_hash(&[&two.concat()]), source_hash(&[&two[0], &two[1]]));
    }
}
