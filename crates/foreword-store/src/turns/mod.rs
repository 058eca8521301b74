//! Turns as journals of steps, held by a lease; what becomes of them after a crash.
