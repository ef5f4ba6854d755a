# Reads `perf script -F comm,event,ip,sym`: a line with thread and event, then the stack, innermost first, then an empty line.

function stage(thread, leaf, stack) {
    if (thread !~ /^(media|agent)/) return "signalling and the rest"
    if (stack ~ /sendmmsg|sendto/) return "send"
    if (stack ~ /recvmmsg|recvfrom/) return "receive"
    if (stack ~ /do_syscall_64|entry_SYSCALL|asm_sysvec|asm_exc|ret_from/)
        return thread ~ /^agent/ ? "agent: sleeping and waking" : "sleeping and waking"
    if (thread ~ /^agent/) return leaf ~ /bandwidth::/ ? "agent: estimation" : "agent: reports, RTCP, timers"
    if (leaf ~ /dec_update|aes_gcm::open|[oO]pen(er|_rtp|_rtcp|_wide)|CRYPTO_memcmp/) return "unprotect"
    if (leaf ~ /ring|aes|ghash|[sS]eal|sha1|Sha1|[hH]mac/) return "seal"
    if (leaf ~ /net::send|[tT]ransmit|egress|cancel|net::control/) return "send"
    if (leaf ~ /net::receive|net::sockets|net::address/) return "receive"
    if (leaf ~ /notes|inbox|alarm/) return "reports to the agent"
    if (leaf ~ /pace|pacing/) return "pace"
    if (leaf ~ /header|Rewrite|rtp_writer|Extension|memmove|memset|StreamIndexes|vp8|descriptor/) return "rewrite"
    if (leaf ~ /ingress|placement|rtp|elements|frame|stream|cache|window|hash/) return "match"
    if (leaf ~ /serve|replica|select|decisions|fanout|segment|bits/) return "select"
    return "the rest of the workers"
}

function finish() {
    if (event != "") count[stage(thread, leaf, stack), event]++
    event = leaf = stack = ""
}

NF == 0 { finish(); next }
/^[^ \t]/ { finish(); thread = $1; event = $0 ~ /instructions/ ? "i" : "c"; next }
{
    symbol = $0
    sub(/^[ \t]*[0-9a-f]+ /, "", symbol)
    if (leaf == "") leaf = symbol
    stack = stack " " symbol
}

END {
    finish()
    order = "receive|unprotect|match|select|pace|rewrite|seal|send|reports to the agent|sleeping and waking|the rest of the workers"
    order = order "|agent: reports, RTCP, timers|agent: estimation|agent: sleeping and waking|signalling and the rest"
    names = split(order, name, "|")
    for (n = 1; n <= names; n++) {
        instructions += count[name[n], "i"]
        cycles += count[name[n], "c"]
    }
    print "| stage | instructions | cycles | of all cycles |"
    print "|---|---|---|---|"
    for (n = 1; n <= names; n++) row(name[n], count[name[n], "i"], count[name[n], "c"])
    row("all", instructions, cycles)
}

function row(name, i, c) {
    printf "| %s | %.0f | %.0f | %.1f %% |\n", name, i * period / replicas, c * period / replicas, 100 * c / cycles
}
