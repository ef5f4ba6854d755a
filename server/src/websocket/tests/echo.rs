//! An echo server for conformance suites, such as Autobahn's fuzzing client.
//!
//! `WEBSOCKET_ECHO=127.0.0.1:9001 cargo test -p weir websocket::tests::echo -- --ignored` serves
//! until it is interrupted.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};

use super::super::upgrade::accept;
use super::super::{Message, split};

/// The largest message of those suites.
const MESSAGE_MAX: usize = 16 << 20;

#[tokio::test]
#[ignore = "serves until it is interrupted"]
async fn messages_are_echoed() {
    let address = std::env::var("WEBSOCKET_ECHO").expect("an address to listen on");
    let listener = TcpListener::bind(address).await.unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(echo(stream));
    }
}

async fn echo(stream: TcpStream) -> std::io::Result<()> {
    let mut stream = BufStream::new(stream);
    let mut answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n".to_owned();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        match line.trim().split_once(": ") {
            Some((name, key)) if name.eq_ignore_ascii_case("sec-websocket-key") => {
                answer += &format!("Sec-WebSocket-Accept: {}\r\n\r\n", accept(key.as_bytes()));
            }
            _ if line.trim().is_empty() => break,
            _ => {}
        }
    }
    stream.write_all(answer.as_bytes()).await?;
    stream.flush().await?;
    let (mut reader, mut writer) = split(stream, MESSAGE_MAX, &super::Memory::default());
    while let Some(read) = reader.next().await {
        match read {
            Ok(Message::Binary(bytes)) => writer.binary(&bytes).await?,
            Ok(Message::Text(text)) => writer.text(text.as_bytes()).await?,
            Ok(Message::Ping(payload)) => writer.pong(&payload).await?,
            Ok(Message::Pong) => {}
            Ok(Message::Close(code)) => return writer.close(code, "").await,
            Err(error) => return writer.close(error.code().unwrap_or(1000), "").await,
        }
    }
    Ok(())
}
