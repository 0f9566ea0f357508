use fringes_channelizer::design::*;
#[test]
fn explore() {
    for (taps, s) in [(16, 2), (64, 8), (96, 8), (128, 8), (256, 16), (512, 32), (1024, 64), (2048, 128),(4096,256), (160, 5), (96, 17), (80,5),(90,5),(95,5),(100,5), (105,5),(110, 5), (120, 5), (127, 8), (511, 32)] {
        for m in [DesignMethod::Equiripple, DesignMethod::LeastSquares, DesignMethod::Kaiser] {
          for w in [0.005, 1.0] {
            let t = std::time::Instant::now();
            match DownConversionFilter::outer_half_discarded(s).taps(taps).method(m).pass_weight(w).build() {
                Ok(f) => println!("{taps}/{s} {m:?} {w}: {:.3e} {:.3} free {:.3e} {:?}", f.passband_ripple_db(), f.stopband_attenuation_db(), f.largest_free_gain_db(), t.elapsed()),
                Err(e) => println!("{taps}/{s} {m:?} {w}: {e} {:?}", t.elapsed()),
            }
            let t = std::time::Instant::now();
            match DownConversionFilter::all_kept(s, 0.8).taps(taps).method(m).pass_weight(w).build() {
                Ok(f) => println!("   kept {taps}/{s} {m:?} {w}: {:.3e} {:.3} free {:.3e} {:?}", f.passband_ripple_db(), f.stopband_attenuation_db(), f.largest_free_gain_db(), t.elapsed()),
                Err(e) => println!("   kept {taps}/{s} {m:?} {w}: {e} {:?}", t.elapsed()),
            }
        }}
    }
}
