//! Round robin.

use super::Demand;
use crate::mac::grid::{RbgSet, each};

/// Round robin: the free RBGs are divided evenly, beginning after the UE served last. In a slot
/// that serves all UEs, it begins after the UE that was first, so that the remainder goes to each
/// in turn.
#[derive(Debug, Default)]
pub(crate) struct RoundRobin {
    next_ue: u32,
}

impl RoundRobin {
    pub(super) fn schedule(
        &mut self,
        demands: &mut [Demand],
        mut free: RbgSet,
        mut rates_of: impl FnMut(&mut Demand),
    ) {
        let n = demands.len();
        let first = demands.iter().position(|d| d.ue >= self.next_ue).unwrap_or(0);
        let (mut left, mut served) = (n, 0);
        for k in 0..n {
            let demand = &mut demands[(first + k) % n];
            let share = (free.count_ones() as usize).div_ceil(left);
            left -= 1;
            rates_of(demand);
            for rbg in each(free & demand.usable).take(share) {
                if demand.satisfied() || demand.rbg_bytes[usize::from(rbg)] == 0 {
                    break;
                }
                demand.give(rbg);
                free &= !(1 << rbg);
            }
            if demand.given != 0 {
                self.next_ue = demand.ue + 1;
                served += 1;
            }
            if free == 0 {
                break;
            }
        }
        if served == n {
            self.next_ue = demands[first].ue + 1;
        }
    }
}
