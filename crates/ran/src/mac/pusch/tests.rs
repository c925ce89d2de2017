use super::*;

#[test]
fn the_ladder_is_dense_and_the_sizes_are_those_of_the_standard() {
    let is_allowed = |prbs: &u16| {
        let mut rest = *prbs;
        for factor in [2, 3, 5] {
            while rest.is_multiple_of(factor) {
                rest /= factor;
            }
        }
        rest == 1
    };
    assert!((1..=275).filter(is_allowed).eq(DFT_SIZES));
    assert!(LADDER.windows(2).all(|two| two[1] - two[0] <= 1 + two[0] / 17) && LADDER[63] > 275);
    let any = Sizes(PuschSizes::Any);
    assert_eq!(any.smallest(50, |prbs| prbs >= 17), 17);
    assert_eq!(any.smallest(50, |_| false), 50);
    assert_eq!(Sizes(PuschSizes::TransformPrecoded).smallest(50, |prbs| prbs > 10), 12);
}
