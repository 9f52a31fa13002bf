"""The playground: a page on this machine on which one plays with queues and congestion controls, from `haltere play`.

| file | what |
|---|---|
| ``server`` | HTTP and the WebSocket, for this machine only; who may come in |
| ``protocol`` | what the page may ask, read and checked |
| ``session`` | the set-ups of one page: they run, they are changed, they stop when the page goes |
| ``export`` | a set-up as an experiment file |
| ``page/`` | the page itself: plain HTML, CSS and JavaScript, no build step |
"""
