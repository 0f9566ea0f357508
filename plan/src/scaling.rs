//! The exchange at scale, as tables of Markdown.

use std::error::Error;
use std::fmt::Write;

use fringes_plan_model::exchange::{Aggregation, FatTree, Network, Order, Schedule, Simulation, aggregation, simulate};
use serde::Serialize;

use crate::arguments::Fabric;
use crate::units::{binary, digits, seconds};

/// One all-to-all.
#[derive(Debug, Serialize)]
struct Row {
    schedule: Schedule,
    simulation: Simulation,
}

/// Everything that is printed.
#[derive(Debug, Serialize)]
struct Scaling {
    network: Network,
    rows: Vec<Row>,
    aggregation: Vec<Aggregation>,
}

/// Tables for 16, 64, 256 and so on up to `most` ranks, and of messages' sizes for `most` ranks.
pub(crate) fn text(most: u32, fabric: &Fabric, json: bool) -> Result<String, Box<dyn Error>> {
    let network = Network {
        tree: FatTree::new(fabric.radix, fabric.levels, fabric.oversubscription)?,
        link: fabric.link_gbit * 1e9 / 8.0,
        latency: fabric.latency_us * 1e-6,
    };
    let block = fabric.block_mib * 1024.0 * 1024.0;
    let mut numbers: Vec<u32> = (2..=8).map(|power| 4_u32.pow(power)).filter(|&ranks| ranks < most).collect();
    numbers.push(most);
    let mut rows = Vec::new();
    // The largest one first: what is too large is found before anything is counted.
    for &ranks in numbers.iter().rev() {
        let mut schedules =
            vec![Schedule::together(Order::Pairwise, ranks)?, Schedule::together(Order::InOrder, ranks)?];
        if ranks > 1 {
            schedules.push(Schedule::apart(Order::Pairwise, ranks / 2, ranks - ranks / 2)?);
        }
        for schedule in schedules.into_iter().rev() {
            let message = block / f64::from(schedule.receivers());
            rows.push(Row { schedule, simulation: simulate(&schedule, &network, message)? });
        }
    }
    rows.reverse();
    let sizes = [1.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0];
    let aggregation = sizes
        .iter()
        .map(|mib| aggregation(most, 0.5 * network.link, network.link, network.latency, 2, mib * 1024.0 * 1024.0))
        .collect::<Result<Vec<_>, _>>()?;
    let scaling = Scaling { network, rows, aggregation };
    if json {
        return Ok(serde_json::to_string_pretty(&scaling)? + "\n");
    }
    tables(&scaling, fabric, most)
}

fn tables(scaling: &Scaling, fabric: &Fabric, most: u32) -> Result<String, Box<dyn Error>> {
    let tree = &scaling.network.tree;
    let mut out = String::new();
    writeln!(
        out,
        "Fat tree: {} levels of switches with {} ports, {} places, leaves {} : 1.\n\
         {} Gbit/s a link, {} us of latency, {} MiB a rank.\n",
        tree.levels(),
        tree.radix(),
        tree.places(),
        digits(tree.oversubscription()),
        digits(fabric.link_gbit),
        digits(fabric.latency_us),
        digits(fabric.block_mib),
    )?;
    out.push_str(
        "| ranks | F and X | order | rounds | messages | a message | through the top | fullest link: most | mean | time | \
         least time |\n|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for Row { schedule, simulation } in &scaling.rows {
        let roles = if schedule.senders() == schedule.ranks() { "together" } else { "apart" };
        let order = if schedule.order() == Order::Pairwise { "pairwise" } else { "in order" };
        writeln!(
            out,
            "| {} | {roles} | {order} | {} | {} | {} | {} % | {} | {} | {} | {} |",
            simulation.ranks,
            simulation.rounds,
            simulation.messages,
            binary(simulation.message_bytes),
            digits(simulation.share_through_top * 100.0),
            simulation.worst_load,
            digits(simulation.mean_load),
            seconds(simulation.seconds),
            seconds(simulation.least_seconds),
        )?;
    }
    writeln!(out, "\nMessages to {most} ranks, from one that sends half of its link's rate, without contention:\n")?;
    out.push_str("| block of a rank | a message | filled in | sent in | bytes' share of it | memory, 3 blocks |\n");
    out.push_str("|---:|---:|---:|---:|---:|---:|\n");
    for row in &scaling.aggregation {
        writeln!(
            out,
            "| {} | {} | {} | {} | {} % | {} |",
            binary(row.block_bytes),
            binary(row.message_bytes),
            seconds(row.fill_seconds),
            seconds(row.send_seconds),
            digits(row.efficiency * 100.0),
            binary(row.memory_bytes),
        )?;
    }
    Ok(out)
}
