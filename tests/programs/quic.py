"""A QUIC server that sends six megabytes on a stream, and its client, with aioquic. The server makes its certificate itself."""

import asyncio
import datetime
import ssl
import sys
import time

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

SIZE = 6_000_000


class Sender(QuicConnectionProtocol):
    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self._quic.send_stream_data(event.stream_id, bytes(SIZE), end_stream=True)
            self.transmit()


def certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    now = datetime.datetime.now(datetime.timezone.utc)
    build = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    build = build.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    return build.sign(key, hashes.SHA256()), key


async def main():
    if len(sys.argv) > 1:
        settings = QuicConfiguration(verify_mode=ssl.CERT_NONE)
        async with connect(sys.argv[1], 4433, configuration=settings) as line:
            reader, writer = await line.create_stream()
            writer.write(b"send")
            began, got = time.monotonic(), 0
            while piece := await reader.read(65536):
                got += len(piece)
            print(f"read {got} in {time.monotonic() - began:.9f} s")
    else:
        settings = QuicConfiguration(is_client=False)
        settings.certificate, settings.private_key = certificate()
        await serve("0.0.0.0", 4433, configuration=settings, create_protocol=Sender)
        print("ready", flush=True)
        await asyncio.Future()


asyncio.run(main())
