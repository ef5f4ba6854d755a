"""A worker whose agents answer on the topic `echo`: text streams with text streams, data with data."""

import asyncio

from livekit import rtc
from livekit.agents import AgentServer, JobContext, cli

# A busy machine is no reason to decline a job of a test.
server = AgentServer(host="127.0.0.1", port=0, num_idle_processes=1, load_fnc=lambda: 0.0)


@server.rtc_session(agent_name="echo")
async def echo(ctx: JobContext) -> None:
    tasks = set()

    def begin(work) -> None:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def answer(reader: rtc.TextStreamReader, sender: str) -> None:
        text = await reader.read_all()
        await ctx.room.local_participant.send_text(
            f"{ctx.job.metadata}: {text}", topic="echo", destination_identities=[sender]
        )

    def received(packet: rtc.DataPacket) -> None:
        if packet.topic == "echo" and packet.participant:
            begin(ctx.room.local_participant.publish_data(packet.data[::-1], reliable=True, topic="answer"))

    ctx.room.register_text_stream_handler("echo", lambda reader, sender: begin(answer(reader, sender)))
    ctx.room.on("data_received", received)
    await ctx.connect()


if __name__ == "__main__":
    cli.run_app(server)
