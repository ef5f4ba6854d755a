//! The joining of two connections.

use std::io::ErrorKind;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::splice::join;

/// The bytes that are on their way in one direction.
const BUFFER: usize = 64;

/// A client and a controller that are joined.
fn joined() -> (DuplexStream, DuplexStream, JoinHandle<std::io::Result<()>>) {
    let [(client, ours), (theirs, controller)] = [(); 2].map(|()| duplex(BUFFER));
    (client, controller, tokio::spawn(join(ours, theirs)))
}

#[tokio::test(start_paused = true)]
async fn bytes_and_ends_pass_in_both_directions() {
    let (mut client, mut controller, joining) = joined();
    let long: Vec<u8> = (0..100_000u32).map(|number| number as u8).collect();
    for _ in 0..2 {
        let mut read = vec![0; long.len()];
        let (wrote, _) = tokio::join!(client.write_all(&long), controller.read_exact(&mut read));
        wrote.unwrap();
        assert!(read == long);
        let (wrote, _) = tokio::join!(controller.write_all(&long), client.read_exact(&mut read));
        wrote.unwrap();
        assert!(read == long);
    }
    client.shutdown().await.unwrap();
    assert_eq!(controller.read(&mut [0]).await.unwrap(), 0);
    controller.write_all(b"goodbye").await.unwrap();
    controller.shutdown().await.unwrap();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"goodbye", "the other direction goes on");
    joining.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stays_after_the_end_is_left_within_a_second() {
    let (mut client, controller, joining) = joined();
    drop(controller);
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    let begun = Instant::now();
    let ended = joining.await.unwrap();
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(begun.elapsed() <= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_stays_after_the_clients_end_is_left_as_well() {
    let (mut client, mut controller, joining) = joined();
    client.shutdown().await.unwrap();
    let begun = Instant::now();
    // It may go on for a while, and not for good.
    let talk = async {
        while controller.write_all(b"still here").await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    };
    let read = async { while client.read(&mut [0; BUFFER]).await.is_ok_and(|read| read > 0) {} };
    let (ended, (), ()) = tokio::join!(joining, talk, read);
    assert_eq!(ended.unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(15));
}

#[tokio::test(start_paused = true)]
async fn a_controller_without_a_sign_of_life_is_lost() {
    let (mut client, mut controller, joining) = joined();
    let begun = Instant::now();
    for _ in 0..20 {
        controller.write_all(b"ping").await.unwrap();
        client.read_exact(&mut [0; 4]).await.unwrap();
        sleep(Duration::from_secs(10)).await;
    }
    assert!(!joining.is_finished());
    // A client that talks all the time does not keep it.
    let talk = async {
        let mut taken = [0; 4];
        while client.write_all(b"pong").await.is_ok() {
            let _ = controller.read_exact(&mut taken).await;
            sleep(Duration::from_secs(5)).await;
        }
    };
    let (ended, ()) = tokio::join!(joining, talk);
    assert_eq!(ended.unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(200 + 40));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_slows_its_controller_down_only() {
    let (mut client, mut controller, joining) = joined();
    let wrote = tokio::time::timeout(Duration::from_secs(5), controller.write_all(&[7; 100_000])).await;
    assert!(wrote.is_err(), "it waits, and nothing is kept");
    client.write_all(b"up").await.unwrap();
    let mut up = [0; 2];
    controller.read_exact(&mut up).await.unwrap();
    assert_eq!(&up, b"up");
    drop(client);
    assert!(joining.await.unwrap().is_err());
    assert!(controller.write_all(b"more").await.is_err());
}
