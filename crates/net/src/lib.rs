//! What lies between two protocol endpoints and is not radio: links with rate, delay and loss,
//! queue disciplines, delivery traces, routers, and the gateway of the mobile core.

pub mod codel;
