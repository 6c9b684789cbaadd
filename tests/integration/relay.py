"""A TCP relay between two processes, whose connections a test cuts, holds up
and slows down."""

import asyncio
import threading

LONG = 30  # Seconds; ends only what would hang.
CHUNK = 1 << 14  # Bytes forwarded at once.
SHORTEST_WAIT = 1e-3  # Seconds.
CHUNKS_AHEAD = 256  # On their way in one direction, where there is a delay.


class Relay:
    """Listens on a free port of 127.0.0.1 and forwards each connection to
    `target`, "host:port", which may be changed: new connections go there. All
    else may be called from any thread, and holds when it has returned."""

    def __init__(self, target):
        self.target = target
        self.latency = 0.0  # Seconds, each way.
        self.rate = None  # Bytes a second, each way of each connection.
        self.state = "open"  # Or "cut", or "held": that of new connections.
        self.links = {}  # By the task that forwards: the writers of its ends.
        self.held = set()  # Of the tasks: those that forward no more.
        self.loop = asyncio.new_event_loop()
        self.closed = self.loop.create_future()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.server = self.run(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]

    def cut(self):
        """All connections break, and new ones do at once, until mend()."""
        self.run(self.change("cut"))

    def cut_one(self, number):
        """One connection breaks, if there is any: that one, counted round."""
        self.run(self.break_one(number))

    def connections(self):
        """How many there are."""
        return len(self.links)

    def half_open(self):
        """Nothing is forwarded any more and nobody is told; new connections
        are taken and lead nowhere. Until mend()."""
        self.run(self.change("held"))

    def forget(self):
        """As half_open() for what is connected now, while new connections are
        forwarded: a firewall between has lost its table."""
        self.run(self.change("open", hold=True))

    def mend(self):
        """New connections are forwarded again. Those that were held break:
        what they had taken in is lost."""
        self.run(self.change("open"))

    def delay(self, seconds):
        """What comes in from now on goes out so much later."""
        self.latency = seconds

    def throttle(self, bytes_per_second):
        """None: as fast as it goes."""
        self.rate = bytes_per_second

    def close(self):
        self.run(self.end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(timeout=LONG)
        self.loop.close()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(
            coroutine, self.loop).result(timeout=LONG)

    # What follows runs on the loop alone.

    async def change(self, state, hold=False):
        self.state = state
        if hold or state == "held":
            for task in self.links:
                task.cancel()
            self.held.update(self.links)
        else:
            self.break_those(list(self.links) if state == "cut" else self.held)
            self.held.clear()

    async def break_one(self, number):
        tasks = list(self.links)
        if tasks:
            self.break_those([tasks[number % len(tasks)]])

    async def end(self):
        self.server.close()
        await self.server.wait_closed()
        await self.change("cut")
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*rest, return_exceptions=True)

    def break_those(self, tasks):
        for task in tasks:
            task.cancel()
            for end in self.links.pop(task, ()):
                end.transport.abort()

    async def serve(self, reader, writer):
        # The port stays the relay's while it is cut: nobody else gets it.
        if self.state == "cut":
            writer.transport.abort()
            return
        here = asyncio.current_task()
        self.links[here] = [writer]
        if self.state == "held":
            self.held.add(here)
            return
        try:
            host, port = (await self.target_of(writer)).rsplit(":", 1)
            onward, there = await asyncio.open_connection(host, int(port))
            self.links[here].append(there)
            await self.forward((reader, there), (onward, writer))
        except asyncio.CancelledError:
            return  # By whoever breaks the connection, or holds it.
        except OSError:
            pass
        # A connection ends with the first of its directions.
        for end in self.links.pop(here):
            end.close()

    async def target_of(self, writer):
        """Where the connection with `writer` leads. OSError: nowhere."""
        return self.target

    async def forward(self, *ways):
        tasks = [asyncio.ensure_future(self.carry(*way)) for way in ways]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def carry(self, reader, writer):
        """One direction, to its end."""
        coming = asyncio.Queue(CHUNKS_AHEAD)

        async def take_in():
            data = b"-"
            while data:
                try:
                    data = await reader.read(CHUNK)
                except OSError:
                    data = b""
                await coming.put((self.loop.time() + self.latency, data))

        taking = asyncio.ensure_future(take_in())
        free = 0.0  # When the last bit of what came before is through.
        try:
            while True:
                due, data = await coming.get()
                if not data:
                    return
                rate = self.rate
                free = max(free, due) + (len(data) / rate if rate else 0)
                wait = free - self.loop.time()
                # A shorter one is made good by the next.
                if wait > SHORTEST_WAIT:
                    await asyncio.wait([self.closed], timeout=wait)
                writer.write(data)
                await writer.drain()
        finally:
            taking.cancel()
