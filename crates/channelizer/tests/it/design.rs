use fringes_channelizer::design::*;
#[test]
fn explore() {
    for (s, taps) in [(8,128),(16,256),(32,512),(5,160),(5,100),(17,96),(64,1024),(128,2048),(32,384),(16,192),(8,96)] {
        for m in [DesignMethod::Equiripple, DesignMethod::LeastSquares, DesignMethod::Kaiser] {
        for kept in [0.0, 0.8, 0.9] {
        let b = if kept == 0.0 { DownConversionFilter::outer_half_discarded(s) } else { DownConversionFilter::all_kept(s, kept) };
        match b.taps(taps).method(m).build() { Ok(f) => {
        let r: Vec<f64> = f.taps().iter().map(|&t| f64::from(t as f32)).collect();
        let mut worst = 0.0f64;
        for b in f.bands().iter().skip(1) { for i in 0..4000 { let x = b.from() + (b.to()-b.from()) * i as f64/3999.0; worst = worst.max(response(&r, x).norm()); } }
        println!("{s} {taps} {m:?} {kept}: {:.6e} dB, {:.4} dB   f32 taps {:.3}", f.passband_ripple_db(), f.stopband_attenuation_db(),-20.0*worst.log10());
        }, Err(e) => println!("{s} {taps} {m:?} {kept}: {e}") }}}
    }
    let (mut ok, mut fails) = (0, 0);
    for s in [2usize, 3, 5, 8, 17, 32, 64] { for per in [4usize, 6, 8, 12, 16, 18, 20] { for p in [0.0, 0.5, 0.7, 0.8, 0.9, 0.95] { for w in [0.005, 1.0, 50.0] { for odd in [0, 1] {
        let taps = s * per + odd; if taps > 1100 { continue; }
        let b = if p == 0.0 { DownConversionFilter::outer_half_discarded(s) } else { DownConversionFilter::all_kept(s, p) };
        match b.taps(taps).pass_weight(w).build() { Ok(_) => ok += 1, Err(e) => {fails += 1; println!("{taps}/{s} ({per}) {p} {w}: {e}") }}
    }}}}}
    println!("{ok} {fails}");
}
