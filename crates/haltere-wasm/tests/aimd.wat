;; A congestion control as a module: one segment more each round trip, half of the window after a loss or an ECN echo.
;; Events are at 8, the answer at 1024 (window, threshold, pacing rate), the segment's size at 1048.
(module
  (memory (export "memory") 1)
  (data (i32.const 2048) "{ \"kind\": \"control\", \"summary\": \"Additive increase, multiplicative decrease.\" }\00")
  (func (export "haltere_abi") (result i32) (i32.const 1))
  (func (export "haltere_about") (result i32) (i32.const 2048))
  (func (export "haltere_event") (result i32) (i32.const 8))
  (func (export "haltere_answer") (result i32) (i32.const 1024))

  (func $window (result i64) (i64.load (i32.const 1024)))
  (func $segment (result i64) (i64.load (i32.const 1048)))
  (func $set (param $window i64) (i64.store (i32.const 1024) (local.get $window)))

  ;; mss, initial_window
  (func (export "start")
    (i64.store (i32.const 1048) (i64.load (i32.const 8)))
    (call $set (i64.load (i32.const 16)))
    (i64.store (i32.const 1032) (i64.const 0x7fffffffffffffff))
    (i64.store (i32.const 1040) (i64.const -1)))

  ;; acked is field 1, cwnd_limited field 16, in_recovery field 17
  (func (export "on_ack")
    (if (i32.and (i64.ne (i64.load (i32.const 136)) (i64.const 0)) (i64.eqz (i64.load (i32.const 144))))
      (then
        (if (i64.lt_u (call $window) (i64.load (i32.const 1032)))
          (then (call $set (i64.add (call $window) (i64.load (i32.const 16)))))
          (else (call $set (i64.add (call $window)
            (i64.div_u (i64.mul (call $segment) (i64.load (i32.const 16))) (call $window)))))))))

  (func $halve
    (local $half i64)
    (local.set $half (i64.shr_u (call $window) (i64.const 1)))
    (if (i64.lt_u (local.get $half) (i64.mul (call $segment) (i64.const 2)))
      (then (local.set $half (i64.mul (call $segment) (i64.const 2)))))
    (i64.store (i32.const 1032) (local.get $half))
    (call $set (local.get $half)))

  (func (export "on_loss") (call $halve))
  (func (export "on_rto") (call $halve) (call $set (call $segment))))
