//! Identifiers. Each is an index into a table that the wiring of a scenario creates.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);
        impl $name {
            /// The identifier as an index.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A node of the network: the second key of the order of events.
    NodeId(u32)
);
id!(
    /// A transport flow: both directions of one connection.
    FlowId(u32)
);
id!(
    /// A user equipment, independent of its serving cell.
    UeId(u32)
);
id!(
    /// A cell.
    CellId(u32)
);
id!(
    /// A UE's number within its cell (TS 36.321 §7.1).
    Rnti(u16)
);
id!(
    /// A logical channel of a UE (TS 36.321 §6.2.1).
    Lcid(u8)
);
