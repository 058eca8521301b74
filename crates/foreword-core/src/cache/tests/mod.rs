//! Scripted pairs of requests with the cause each of them has, and laws that hold for all.
