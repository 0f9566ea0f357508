//! What is shown while an instrument runs.

use std::time::Duration;

use fringes::stream::Report;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Rates and depths of queues on a terminal; nothing elsewhere.
pub(crate) struct Live {
    samples: ProgressBar,
    stages: ProgressBar,
    last: (u64, Duration),
}

impl Live {
    pub(crate) fn new(quiet: bool, samples: Option<u64>) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let bars = MultiProgress::with_draw_target(target);
        let style = |text: &str| ProgressStyle::with_template(text).unwrap_or_else(|_| ProgressStyle::default_bar());
        let known = "{bar:40} {percent:>3} %  {msg}";
        let bar = ProgressBar::new(samples.unwrap_or(0));
        bar.set_style(style(if samples.is_some() { known } else { "{spinner} {msg}" }));
        let stages = ProgressBar::new(0);
        stages.set_style(style("{msg}"));
        Self { samples: bars.add(bar), stages: bars.add(stages), last: (0, Duration::ZERO) }
    }

    pub(crate) fn show(&mut self, report: &Report, elapsed: Duration) {
        let (before, then) = self.last;
        if elapsed < then + Duration::from_millis(200) {
            return;
        }
        let rate = (report.samples - before) as f64 / (elapsed - then).as_secs_f64().max(1e-9);
        self.last = (report.samples, elapsed);
        self.samples.set_position(report.samples);
        self.samples.set_message(format!("{:.1} Msamples/s, {} dumps", rate / 1e6, report.dumps));
        let lost = report.late_chunks + report.source.lost + report.sinks.iter().map(|sink| sink.dropped).sum::<u64>();
        self.stages.set_message(format!("deepest queues: {}; lost or dropped: {lost}", deepest_queues(report)));
    }

    pub(crate) fn end(&self) {
        self.samples.finish_and_clear();
        self.stages.finish_and_clear();
    }
}

/// The depth that each queue has reached, in words.
pub(crate) fn deepest_queues(report: &Report) -> String {
    let depths: Vec<String> = report.deepest_queues.iter().map(|(name, depth)| format!("{name} {depth}")).collect();
    depths.join(", ")
}
