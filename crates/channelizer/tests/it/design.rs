use fringes_channelizer::design::*;
#[test]
fn explore() {
    let mut ok = 0;
    for s in [2usize, 3, 5, 8, 17, 32, 64] { for per in [4usize, 6, 8, 12, 16, 20, 24, 32] { for p in [0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95] { for w in [0.005, 1.0, 50.0] { for odd in [0, 1] {
        let taps = s * per + odd; if taps > 1100 { continue; }
        let b = if p == 0.0 { DownConversionFilter::outer_half_discarded(s) } else { DownConversionFilter::all_kept(s, p) };
        let t = std::time::Instant::now();
        match b.taps(taps).pass_weight(w).build() { Ok(f) => { if f.largest_free_gain_db() > f.passband_ripple_db() + 1e-6 { println!("{taps}/{s} {p} {w} free {} rip {}", f.largest_free_gain_db(), f.passband_ripple_db()) } else {ok += 1}}
        Err(e) => println!("{taps}/{s} ({per}) {p} {w}: {e} {:?}", t.elapsed()) }
    }}}}}
    println!("ok {ok}");
    for (taps,s) in [(2048,128),(4096,256),(4096,1024),(2048,64),(4096,8)] { for p in [0.3,0.8,0.95,0.99] {
        let t = std::time::Instant::now();
        match DownConversionFilter::all_kept(s, p).taps(taps).build() { Ok(f) => println!("{taps}/{s} {p} {} {:?}", f.stopband_attenuation_db(), t.elapsed()), Err(e) => println!("{taps}/{s} {p} {e} {:?}",t.elapsed()) }
    }}
}
