//! The list of controllers.

/// Calls a macro with the list of controllers: for each its name in scenarios and results, its kind, and what it is.
#[doc(hidden)]
#[macro_export]
macro_rules! controllers {
    ($define:ident) => {
        $define! {
            "cubic" => Cubic, "RFC 9438.";
            "newreno" => NewReno, "RFC 5681, RFC 6582.";
            "scalable" => Scalable, "Scalable TCP (Kelly 2003).";
            "vegas" => Vegas, "Vegas (Brakmo and Peterson 1995).";
            "westwood" => Westwood, "Westwood+ (Grieco and Mascolo 2004).";
            "veno" => Veno, "Veno (Fu and Liew 2003).";
            "bbr" => Bbr, "BBR version 1, as in Linux.";
            "bbr3" => Bbr3, "BBR version 3 (draft-ietf-ccwg-bbr).";
            "copa" => Copa, "Copa (Arun and Balakrishnan 2018).";
            "c2tcp" => C2tcp, "C2TCP (Abbasloo, Xu and Chao 2019) on CUBIC.";
            "c4" => C4, "C4, Christian's congestion control (draft-huitema-ccwg-c4).";
            "vivace" => Vivace, "PCC Vivace (Dong et al. 2018).";
            "pbe" => Pbe, "PBE-CC (Xie, Yi and Jamieson 2020), which needs radio information about the cell.";
            "verus" => Verus, "Verus (Zaki et al. 2015).";
            "abc" => Abc, "ABC (Goyal et al. 2020), which needs accurate ECN and a queue with ABC's marks.";
            "ledbat++" => LedbatPlusPlus, "LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus), for background traffic.";
            "dctcp" => Dctcp, "DCTCP (RFC 8257), which needs accurate ECN. It is for networks whose queues mark at a low threshold.";
            "prague" => Prague, "Prague, the congestion control of L4S, which needs accurate ECN.";
            "mdcc" => Mdcc, "Multi-domain congestion control (Krämer et al. 2019), which needs a PEP.";
        }
    };
}

macro_rules! define_kinds {
    ($($name:literal => $kind:ident, $meaning:literal;)+) => {
        /// The kind of controller.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum CongestionKind {
            $(#[doc = $meaning] $kind,)+
            /// A controller from outside this crate, [`OwnControllers`](super::OwnControllers).
            Own,
        }

        impl CongestionKind {
            /// All kinds of this crate.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$kind),+];

            /// Its name in scenarios and results.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                    Self::Own => "own",
                }
            }
        }
    };
}
controllers!(define_kinds);

impl CongestionKind {
    /// The controller of this crate with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl CongestionKind {
    /// True if the start of a connection is part of the law, so that no [algorithm](super::SlowStartAlgorithm) can end
    /// it: the laws with a model of the path and ABC have no slow start of RFC 5681, that of LEDBAT++ ends by the law's target
    /// (§4.3 of its draft), and MD-CC has two windows, with HyStart for one of them.
    #[must_use]
    pub const fn has_own_start(self) -> bool {
        matches!(
            self,
            Self::Abc
                | Self::Bbr
                | Self::Bbr3
                | Self::C4
                | Self::Copa
                | Self::LedbatPlusPlus
                | Self::Mdcc
                | Self::Pbe
                | Self::Verus
                | Self::Vivace
        )
    }
}
