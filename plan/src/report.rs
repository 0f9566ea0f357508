//! A plan as text.

use std::fmt::Write;

use fringes_plan_model::{Plan, Power, Rank, Samples};

use crate::units::{binary, digits, seconds, short};

/// The plan, a section after the other.
pub(crate) fn text(plan: &Plan) -> String {
    let mut out = String::new();
    head(&mut out, plan);
    ranks(&mut out, plan);
    rates(&mut out, plan);
    memory(&mut out, plan);
    power(&mut out, plan);
    bound(&mut out, plan);
    for note in &plan.notes {
        line(&mut out, &format!("note: {note}"));
    }
    out
}

/// A number of things.
fn of(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

fn head(out: &mut String, plan: &Plan) {
    let telescope = &plan.telescope;
    line(
        out,
        &format!(
            "{} antennas, {} polarisations, {}, {} channels of {}",
            telescope.antennas,
            telescope.pols,
            short(telescope.bandwidth_hz, "Hz"),
            telescope.channels,
            short(telescope.bandwidth_hz / f64::from(telescope.channels), "Hz"),
        ),
    );
    line(out, &format!("on {} ({}) in {}", of(plan.gpus(), "GPU"), plan.gpu, of(plan.hosts(), "host")));
    let compute = plan.compute;
    let share = digits(plan.machine.gpu_share * 100.0);
    line(
        out,
        &format!(
            "GPUs that would be busy to {share} %: F {}, X {}, beams {}",
            digits(compute.f),
            digits(compute.x),
            digits(compute.beams)
        ),
    );
}

fn ranks(out: &mut String, plan: &Plan) {
    for rank in &plan.ranks {
        line(out, "");
        line(
            out,
            &format!("{}: {} in {}{}", rank.role.name(), of(rank.gpus, "GPU"), of(rank.hosts, "host"), shares(rank)),
        );
        line(out, "  resource                   GPUs that it alone asks for   load of a rank");
        for (need, load) in rank.needs.iter().zip(&rank.loads) {
            let name = need.0.name();
            line(out, &format!("  {name:<26} {:>27}   {:>12} %", digits(need.1), digits(load.1 * 100.0)));
        }
    }
}

fn shares(rank: &Rank) -> String {
    let mut text = String::new();
    if rank.antennas > 0 {
        let _ = write!(text, ", {} antennas each", rank.antennas);
    }
    if rank.channels > 0 {
        let _ = write!(text, ", {} channels each", rank.channels);
    }
    text
}

fn rates(out: &mut String, plan: &Plan) {
    let rates = &plan.rates;
    line(out, "");
    line(out, "bytes a second");
    if plan.telescope.samples != Samples::Channelised {
        line(out, &format!("  samples into F             {}", short(rates.samples, "B/s")));
    }
    line(out, &format!("  all-to-all                 {}", short(rates.voltages, "B/s")));
    line(out, &format!("    from rank to rank        {}", short(rates.between_ranks, "B/s")));
    line(out, &format!("    from host to host        {}", short(rates.between_hosts, "B/s")));
    line(out, &format!("  dumps                      {}", short(rates.dumps, "B/s")));
    if plan.telescope.beams.is_some() {
        line(out, &format!("  beams                      {}", short(rates.beams, "B/s")));
    }
    for link in &rates.links {
        line(
            out,
            &format!(
                "  a host of {}: in {} (exchange {}), out {} (exchange {})",
                link.role.name(),
                short(link.into, "B/s"),
                short(link.exchange_into, "B/s"),
                short(link.out, "B/s"),
                short(link.exchange_out, "B/s"),
            ),
        );
    }
}

fn memory(out: &mut String, plan: &Plan) {
    line(out, "");
    line(out, "memory");
    line(
        out,
        &format!(
            "  a block                    {} of signal; a message {}",
            seconds(plan.block_seconds),
            binary(plan.message_bytes as f64)
        ),
    );
    for (rank, memory) in plan.ranks.iter().zip(&plan.rank_memory) {
        let bytes = binary(memory.total() as f64);
        let host = binary(memory.total() as f64 * f64::from(plan.machine.gpus_per_host.min(rank.gpus)));
        line(out, &format!("  host, {:<20} {bytes} a rank, {host} a host, for the exchange", rank.role.name()));
    }
    for (rank, bytes) in plan.ranks.iter().zip(&plan.gpu_memory) {
        line(out, &format!("  GPU, {:<21} {}", rank.role.name(), binary(*bytes)));
    }
}

fn power(out: &mut String, plan: &Plan) {
    line(out, "");
    line(out, "power of the GPUs' boards");
    for power in &plan.power {
        let Power { operation, measured, a_gpu, gpu, most } = power;
        let text = match (measured, a_gpu, gpu) {
            (Some(watts), Some(a_gpu), Some(gpu)) => {
                let gpu = gpu.split_whitespace().nth(1).unwrap_or(gpu);
                format!("{}, {} a GPU, by energy measured on an {gpu}", short(*watts, "W"), short(*a_gpu, "W"))
            }
            _ => format!("not measured; at most {}, at the board's limit", short(*most, "W")),
        };
        line(out, &format!("  {:<26} {text}", operation.name()));
    }
    line(out, &format!("  all {} boards at most     {}", plan.gpus(), short(plan.most_watts, "W")));
}

fn bound(out: &mut String, plan: &Plan) {
    let bottleneck = plan.bottleneck;
    let fails = if bottleneck.load > 1.0 + 1e-9 { ": it does not keep up" } else { "" };
    line(out, "");
    line(
        out,
        &format!(
            "bottleneck: {} of {}, {} % of what may be used{fails}",
            bottleneck.resource.name(),
            bottleneck.role.name(),
            digits(bottleneck.load * 100.0)
        ),
    );
    for more in &plan.one_more {
        let text = if more.then > more.now {
            format!("{} more band ({} in all)", short(more.then - more.now, "Hz"), short(more.then, "Hz"))
        } else {
            "nothing: other ranks bound the band".to_owned()
        };
        line(out, &format!("one more GPU for {}: {text}", more.role.name()));
    }
}
