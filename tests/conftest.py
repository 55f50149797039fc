"""Makes sessions and workers that tests start hear Ctrl-C, however pytest itself was started."""

import signal

# Whoever starts pytest in the background of a script hands down an ignored Ctrl-C, to all that a test starts too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
