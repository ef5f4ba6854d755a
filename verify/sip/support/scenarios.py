"""What callers and callees do, as scenarios for sipp, put together from steps.

Where somebody has heard the other side's address and may talk, a line for the phones is written to sipp's log:
`talk CALL-ID OUR-NUMBER THEIR-ADDRESS THEIR-PORT`.
"""

import re
from collections.abc import Sequence

# Until everything that was sent has arrived: nobody hangs up or holds a call before.
SETTLE_MS = 700
AGAIN_MS = 500


def scenario(*steps: str) -> str:
    """The file that sipp reads."""
    body = "\n".join(steps)
    # sipp takes a variable that is never read for a mistake.
    assigned = {name for names in re.findall('assign_to="([0-9,]+)"', body) for name in names.split(",")}
    unused = sorted(name for name in assigned if f"[${name}]" not in body)
    references = f'<Reference variables="{",".join(unused)}"/>' if unused else ""
    return f'<?xml version="1.0"?>\n<scenario name="call">\n{body}\n{references}\n</scenario>\n'


# Either side.

HEARD = (
    '<ereg regexp="c=IN IP4 ([0-9.]*)" search_in="body" check_it="true" assign_to="1,2"/>'
    '<ereg regexp="m=audio ([0-9]*)" search_in="body" check_it="true" assign_to="3,4"/>'
)
TALK = '<log message="talk [call_id] [call_number] [$2] [$4]"/>'


def pause(ms: int) -> str:
    return f'<pause milliseconds="{ms}"/>'


def receive(what: str, doing: Sequence[str] = (), more: str = "") -> str:
    actions = f"<action>{''.join(doing)}</action>" if doing else ""
    return f"<recv {what} {more}>{actions}</recv>"


def description(direction: str, address: str = "[local_ip]") -> str:
    lines = [
        "v=0",
        "o=phone [pid] [call_number] IN IP4 [local_ip]",
        "s=-",
        f"c=IN IP4 {address}",
        "t=0 0",
        "m=audio [auto_media_port] RTP/AVP 0",
        "a=rtpmap:0 PCMU/8000",
        f"a={direction}",
    ]
    return "\n".join(lines)


def _send(lines: Sequence[str], body: str = "", again: bool = False) -> str:
    kind = ["Content-Type: application/sdp"] if body else []
    message = "\n".join([*lines, *kind, "Content-Length: [len]", "", body])
    retrans = f'retrans="{AGAIN_MS}"' if again else ""
    return f"<send {retrans}><![CDATA[\n{message}\n]]></send>"


# Callers.


def invite(number: int = 1, direction: str = "sendrecv", address: str = "[local_ip]") -> str:
    """The first INVITE, or a later one within the call. `address` is where the caller believes to be."""
    return _send(_from_caller("INVITE", number, within=number > 1), description(direction, address), again=True)


def accepted(*doing: str) -> str:
    """200 with a description, and what may come before."""
    return progress() + receive('response="200"', [HEARD, *doing], 'rrs="true"')


def progress() -> str:
    return receive('response="100"', more='optional="true"') + receive('response="180"', more='optional="true"')


def ringing() -> str:
    return receive('response="100"', more='optional="true"') + receive('response="180"')


def acknowledge(number: int = 1) -> str:
    """ACK to an acceptance, which is a transaction of its own."""
    return _send(_from_caller("ACK", number, within=True, branch=f"ack{number}"))


def refused(status: int, number: int = 1) -> str:
    """The refusal of an INVITE, and ACK to it."""
    lines = _from_caller("ACK", number, within=number > 1)
    if number == 1:
        lines = [f"{line}[peer_tag_param]" if line.startswith("To:") else line for line in lines]
    return progress() + receive(f'response="{status}"') + _send(lines)


def cancel() -> str:
    return _send(_from_caller("CANCEL", 1, within=False), again=True) + receive('response="200"')


def hang_up(number: int = 9) -> str:
    return _send(_from_caller("BYE", number, within=True), again=True) + receive('response="200"')


def _from_caller(method: str, number: int, within: bool, branch: str = "") -> list[str]:
    target = "[next_url]" if within else "sip:callee@[remote_ip]:[remote_port]"
    return [
        f"{method} {target} SIP/2.0",
        f"Via: SIP/2.0/UDP [local_ip]:[local_port];branch=z9hG4bK-[pid]-[call_number]-{branch or number}",
        "Max-Forwards: 70",
        *(["[routes]"] if within else []),
        "From: <sip:caller@[local_ip]>;tag=[pid]a[call_number]",
        f"To: <sip:callee@[remote_ip]>{'[peer_tag_param]' if within else ''}",
        "Call-ID: [call_id]",
        f"CSeq: {number} {method}",
        "Contact: <sip:caller@[local_ip]:[local_port]>",
    ]


# Callees.


def invited() -> str:
    caller = '<ereg regexp=";tag=.*" search_in="hdr" header="From:" check_it="true" assign_to="5"/>'
    return receive('request="INVITE"', [HEARD, caller], 'rrs="true"')


def changed() -> str:
    """An INVITE within the call."""
    return receive('request="INVITE"', [HEARD])


def ring() -> str:
    return _send(_from_callee("180 Ringing"))


def accept(direction: str = "sendrecv", within: bool = False) -> str:
    """200 with a description, again and again until there is an ACK."""
    return _send(_from_callee("200 OK", tagged=within), description(direction), again=True)


def refuse(status: str, within: bool = False) -> str:
    return _send(_from_callee(status, tagged=within), again=True) + acknowledged()


def acknowledged(*doing: str) -> str:
    return receive('request="ACK"', doing)


def hung_up() -> str:
    return receive('request="BYE"') + _send(_from_callee("200 OK", tagged=True))


def cancelled() -> str:
    """CANCEL, its answer, and the end of the INVITE that it asks for."""
    gone = [*_from_callee("487 Request Terminated")[:-2], "CSeq: 1 INVITE", _CONTACT]
    return (
        receive('request="CANCEL"') + _send(_from_callee("200 OK")) + _send(gone, again=True) + acknowledged()
    )


def hang_up_on_caller() -> str:
    lines = [
        "BYE [next_url] SIP/2.0",
        "Via: SIP/2.0/UDP [local_ip]:[local_port];branch=z9hG4bK-[pid]-[call_number]-bye",
        "Max-Forwards: 70",
        "[routes]",
        f"From: <sip:callee@[local_ip]>;{_TAG}",
        "To: <sip:caller@[remote_ip]>[$5]",
        "Call-ID: [call_id]",
        "CSeq: 1 BYE",
        _CONTACT,
    ]
    return _send(lines, again=True) + receive('response="200"')


def hung_up_on() -> str:
    """A caller's part in that."""
    return receive('request="BYE"') + _send(_from_callee("200 OK", tagged=True))


_TAG = "tag=[pid]b[call_number]"
_CONTACT = "Contact: <sip:callee@[local_ip]:[local_port]>"


def _from_callee(status: str, tagged: bool = False) -> list[str]:
    """A response to the last request, which has our tag when it came within the call."""
    return [
        f"SIP/2.0 {status}",
        "[last_Via:]",
        "[last_Record-Route:]",
        "[last_From:]",
        "[last_To:]" if tagged else f"[last_To:];{_TAG}",
        "[last_Call-ID:]",
        "[last_CSeq:]",
        _CONTACT,
    ]
