//! `weir-bench`: measures a server of the LiveKit protocol. See `eval/README.md`.

mod args;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use eval::client::Server;
use eval::compare::{self, Subprocess};
use eval::floor;
use eval::net;
use eval::report::{Report, crowds, table};
use eval::routes::Routes;
use eval::run::{RunError, Settings, run};
use eval::scenario::Scenario;
use eval::suite::Suite;

use args::{
    Arguments, Command, CompareArguments, FloorArguments, Load, RoutesArguments, RunArguments, SuiteArguments, Target,
};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    net::raise_socket_limit();
    let outcome = match arguments.command {
        None => measure(&arguments.run),
        Some(Command::Suite(suite)) => measure_suite(&suite),
        Some(Command::Routes(routes)) => measure_routes(&routes),
        Some(Command::Floor(floor)) => measure_floor(&floor),
        Some(Command::Compare(arguments)) => compare(&arguments),
        Some(Command::CompareSubprocess { orders }) => run_subprocess(&orders),
        Some(Command::FloorSender { orders }) => send_floor(&orders),
    };
    match outcome {
        Ok(clean) => ExitCode::from(u8::from(!clean)),
        Err(error) => {
            eprintln!("weir-bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn settings(target: &Target, load: &Load, scenario: Scenario) -> Result<Settings, RunError> {
    let server = Server::new(&target.url, &target.api_key, &target.api_secret).map_err(RunError::Server)?;
    Ok(Settings {
        target: target.name.clone(),
        server,
        server_pid: target.server_pid,
        scenario,
        behaviour: load.behaviour(scenario),
        settle: load.settle(),
        window: load.window(),
        join_rate: load.join_rate(scenario),
        open_one_in: load.open_one_in,
    })
}

fn measure(arguments: &RunArguments) -> Result<bool, RunError> {
    let scenario = arguments.scenario.expect("required by the parser");
    let report = run(&settings(&arguments.target, &arguments.load, scenario)?)?;
    print!("{}", report.text());
    write_json(arguments.target.json.as_deref(), std::slice::from_ref(&report))?;
    Ok(report.is_clean())
}

fn measure_suite(arguments: &SuiteArguments) -> Result<bool, RunError> {
    let mut scenarios = arguments.scenarios.clone();
    if scenarios.is_empty() {
        scenarios.extend(["1x50", "10x10"].map(|shape| shape.parse::<Scenario>().expect("a scenario")));
    }
    let suite = Suite {
        server_command: arguments
            .server_cmd
            .as_ref()
            .map(|words| words.split_whitespace().map(String::from).collect()),
        floor: !arguments.no_floor,
        runs: scenarios
            .into_iter()
            .map(|scenario| settings(&arguments.target, &arguments.load, scenario))
            .collect::<Result<_, _>>()?,
    };
    let pairs = suite.run(|report| println!("{}", report.text()))?;
    print!("{}", table(&pairs));
    let reports: Vec<&Report> = pairs.iter().map(|(report, _)| report).collect();
    print!("{}", crowds(&reports));
    let reports: Vec<Report> = pairs
        .iter()
        .flat_map(|(report, floor)| [Some(report), floor.as_ref()])
        .flatten()
        .cloned()
        .collect();
    write_json(arguments.target.json.as_deref(), &reports)?;
    for (report, _) in pairs.iter().filter(|(report, _)| !report.is_clean()) {
        let (lost, foreign, damaged) = (report.lost_inside(), report.foreign, report.damaged);
        eprintln!(
            "{}: {lost} packets lost inside the server, {foreign} foreign, {damaged} damaged",
            report.scenario
        );
    }
    Ok(pairs.iter().all(|(report, _)| report.is_clean()))
}

fn measure_routes(arguments: &RoutesArguments) -> Result<bool, RunError> {
    let command: Vec<String> = arguments.server_cmd.split_whitespace().map(String::from).collect();
    let any = Scenario::Rooms {
        rooms: 1,
        publishers: 1,
        receivers: 1,
    };
    let settings = settings(&arguments.target, &arguments.load, any)?;
    let progress = |report: &Report| print!("{}", table(&[(report.clone(), None)]));
    let routes = Routes::measure(&command, &settings, arguments.rounds as usize, progress)?;
    print!("{routes}");
    Ok(routes.are_clean)
}

fn measure_floor(arguments: &FloorArguments) -> Result<bool, RunError> {
    let one_to_many = || {
        format!("1x{}", arguments.receivers.unwrap_or(1))
            .parse()
            .map_err(RunError::Scenario)
    };
    let scenario = arguments.scenario.map_or_else(one_to_many, Ok)?;
    let report = floor::measure(
        scenario,
        &arguments.load.behaviour(scenario),
        arguments.load.window(),
        &arguments.cable(),
    )?;
    print!("{}", report.text());
    write_json(arguments.json.as_deref(), std::slice::from_ref(&report))?;
    Ok(report.is_clean())
}

fn compare(arguments: &CompareArguments) -> Result<bool, RunError> {
    compare::compare(&arguments.options()).map_err(|error| RunError::Machine(std::io::Error::other(error.to_string())))
}

fn run_subprocess(orders: &str) -> Result<bool, RunError> {
    let subprocess: Subprocess = serde_json::from_str(orders).map_err(|error| RunError::Machine(error.into()))?;
    println!("{}", subprocess.perform().expect("outcomes are plain data"));
    Ok(true)
}

fn send_floor(orders: &str) -> Result<bool, RunError> {
    let orders = serde_json::from_str(orders).map_err(|error| RunError::Machine(error.into()))?;
    let account = floor::send(&orders).map_err(RunError::Machine)?;
    println!("{}", serde_json::to_string(&account).expect("an account is plain data"));
    Ok(true)
}

fn write_json(path: Option<&Path>, reports: &[Report]) -> Result<(), RunError> {
    let Some(path) = path else { return Ok(()) };
    let text = serde_json::to_string_pretty(reports).expect("a report is plain data");
    std::fs::write(path, text + "\n").map_err(RunError::Machine)
}
