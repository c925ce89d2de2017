//! A regression spline with a penalty on its curvature: the cubic spline S with natural ends on M equidistant nodes that
//! minimises Σ (y − S(x))² + C 10^ρ ∫ S''², with x scaled to [−1, 1].
//!
//! This is what `spline1dfitpenalized` of ALGLIB 3.9 computes (`interpolation.cpp` in yzaki/verus 4b1bbf04): C is the
//! largest Σ B(x)² over the largest ∫ B''² of the basis functions B, which are 1 at one node and 0 at the others. Outside of
//! the points the spline is a straight line.

/// Nodes and values of a fitted spline.
#[derive(Clone, Debug)]
pub(super) struct Spline {
    from: f64,
    /// Half of the distance from the first point to the last.
    half: f64,
    /// Distance between nodes on [−1, 1].
    step: f64,
    values: Vec<f64>,
    /// Second derivatives at the nodes.
    bends: Vec<f64>,
}

/// A square matrix, by rows.
#[derive(Clone, Debug)]
struct Matrix {
    size: usize,
    cells: Vec<f64>,
}

impl Matrix {
    fn zero(size: usize) -> Self {
        Self { size, cells: vec![0.0; size * size] }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[row * self.size + column]
    }

    fn add(&mut self, row: usize, column: usize, value: f64) {
        self.cells[row * self.size + column] += value;
    }

    fn diagonal_max(&self) -> f64 {
        (0..self.size).map(|place| self.at(place, place)).fold(0.0, f64::max)
    }

    /// Solves for a positive definite matrix, by Cholesky's factors. `None` if it is not one in this arithmetic.
    fn solve(mut self, mut right: Vec<f64>) -> Option<Vec<f64>> {
        for row in 0..self.size {
            for column in 0..=row {
                let known: f64 = (0..column).map(|k| self.at(row, k) * self.at(column, k)).sum();
                let rest = self.at(row, column) - known;
                self.cells[row * self.size + column] = if column < row {
                    rest / self.at(column, column)
                } else if rest > 0.0 {
                    libm::sqrt(rest)
                } else {
                    return None;
                };
            }
            let known: f64 = (0..row).map(|k| self.at(row, k) * right[k]).sum();
            right[row] = (right[row] - known) / self.at(row, row);
        }
        for row in (0..self.size).rev() {
            let known: f64 = (row + 1..self.size).map(|k| self.at(k, row) * right[k]).sum();
            right[row] = (right[row] - known) / self.at(row, row);
        }
        Some(right)
    }
}

/// The second derivatives at the nodes for these values: γ(i−1) + 4 γ(i) + γ(i+1) = 6/h² (g(i−1) − 2 g(i) + g(i+1)), and 0
/// at the ends.
fn bends(values: &[f64], step: f64) -> Vec<f64> {
    let last = values.len() - 1;
    let (mut scale, mut bends) = (vec![0.0; last + 1], vec![0.0; last + 1]);
    for i in 1..last {
        let right = 6.0 / (step * step) * (values[i - 1] - 2.0 * values[i] + values[i + 1]);
        let pivot = 4.0 - scale[i - 1];
        scale[i] = 1.0 / pivot;
        bends[i] = (right - bends[i - 1]) / pivot;
    }
    for i in (1..last).rev() {
        bends[i] -= scale[i] * bends[i + 1];
    }
    bends
}

/// A point between two nodes.
struct Weights {
    node: usize,
    /// Of the values at this node and the next, and of the second derivatives there.
    values: [f64; 2],
    bends: [f64; 2],
}

impl Weights {
    /// Of a point of [−1, 1].
    fn new(x: f64, step: f64, nodes: usize) -> Self {
        let place = (x + 1.0) / step;
        let node = (place as usize).min(nodes - 2);
        let right = place - node as f64;
        let left = 1.0 - right;
        let bend = |part: f64| step * step / 6.0 * (part * part * part - part);
        Self { node, values: [left, right], bends: [bend(left), bend(right)] }
    }
}

impl Spline {
    /// Fits a spline with these nodes, four or more, to points in the order of their x. `None` if fewer than two points
    /// differ in x.
    pub(super) fn fit(points: &[(f64, f64)], nodes: usize, rho: f64) -> Option<Self> {
        let (&(from, _), &(to, _)) = (points.first()?, points.last()?);
        let (half, step) = ((to - from) / 2.0, 2.0 / (nodes - 1) as f64);
        if half <= 0.0 {
            return None;
        }
        let weights = |x: f64| Weights::new((x - from) / half - 1.0, step, nodes);
        let bends_of = basis_bends(nodes, step);
        // Rows of the design matrix touch two values and two second derivatives, so that its products have three bands.
        let (mut gg, mut gb, mut bb) = (Matrix::zero(nodes), Matrix::zero(nodes), Matrix::zero(nodes));
        let (mut yg, mut yb) = (vec![0.0; nodes], vec![0.0; nodes]);
        for &(x, y) in points {
            let Weights { node, values, bends } = weights(x);
            for i in 0..2 {
                for j in 0..2 {
                    gg.add(node + i, node + j, values[i] * values[j]);
                    gb.add(node + i, node + j, values[i] * bends[j]);
                    bb.add(node + i, node + j, bends[i] * bends[j]);
                }
                yg[node + i] += values[i] * y;
                yb[node + i] += bends[i] * y;
            }
        }
        let normal = in_values(&gg, &gb, &bb, &bends_of);
        let penalty =
            in_values(&Matrix::zero(nodes), &Matrix::zero(nodes), &curvature(nodes, step), &bends_of);
        let (normal_max, penalty_max) = (normal.diagonal_max(), penalty.diagonal_max());
        let decay = libm::pow(10.0, rho) * normal_max / penalty_max;
        let mut system = normal;
        system.cells.iter_mut().zip(&penalty.cells).for_each(|(sum, bend)| *sum += decay * bend);
        for place in 0..nodes {
            system.add(place, place, normal_max * (1.0 + decay) * 10.0 * f64::EPSILON);
        }
        let right = |node: usize| yg[node] + (0..nodes).map(|k| yb[k] * bends_of.at(k, node)).sum::<f64>();
        let values = system.solve((0..nodes).map(right).collect())?;
        let bends = bends(&values, step);
        Some(Self { from, half, step, values, bends })
    }

    /// Its value.
    pub(super) fn at(&self, x: f64) -> f64 {
        let x = (x - self.from) / self.half - 1.0;
        let inside = x.clamp(-1.0, 1.0);
        let Weights { node, values, bends } = Weights::new(inside, self.step, self.values.len());
        let of = |weights: [f64; 2], all: &[f64]| weights[0] * all[node] + weights[1] * all[node + 1];
        of(values, &self.values) + of(bends, &self.bends) + (x - inside) * self.end_slope(x > 0.0)
    }

    /// The slope at an end, per unit of [−1, 1]. The second derivative there is 0.
    fn end_slope(&self, upper: bool) -> f64 {
        let (step, last) = (self.step, self.values.len() - 1);
        if upper {
            (self.values[last] - self.values[last - 1]) / step + step / 6.0 * self.bends[last - 1]
        } else {
            (self.values[1] - self.values[0]) / step - step / 6.0 * self.bends[1]
        }
    }
}

/// The second derivatives at the nodes (rows) of each basis function (columns).
fn basis_bends(nodes: usize, step: f64) -> Matrix {
    let mut all = Matrix::zero(nodes);
    let mut one = vec![0.0; nodes];
    for column in 0..nodes {
        one[column] = 1.0;
        for (row, bend) in bends(&one, step).into_iter().enumerate() {
            all.add(row, column, bend);
        }
        one[column] = 0.0;
    }
    all
}

/// ∫ S''² as a form of the second derivatives at the nodes, between which S'' is linear.
fn curvature(nodes: usize, step: f64) -> Matrix {
    let mut form = Matrix::zero(nodes);
    for node in 0..nodes - 1 {
        for (row, column, share) in [(0, 0, 3.0), (1, 1, 3.0), (0, 1, 6.0), (1, 0, 6.0)] {
            form.add(node + row, node + column, step / share);
        }
    }
    form
}

/// A form of values and second derivatives, whose parts have three bands, as a form of the values alone.
fn in_values(gg: &Matrix, gb: &Matrix, bb: &Matrix, bends_of: &Matrix) -> Matrix {
    let nodes = gg.size;
    let near = |node: usize| node.saturating_sub(1)..(node + 2).min(nodes);
    let (mut mixed, mut inner) = (Matrix::zero(nodes), Matrix::zero(nodes));
    for row in 0..nodes {
        for k in near(row) {
            for column in 0..nodes {
                mixed.add(row, column, gb.at(row, k) * bends_of.at(k, column));
                inner.add(row, column, bb.at(row, k) * bends_of.at(k, column));
            }
        }
    }
    let mut form = Matrix::zero(nodes);
    for row in 0..nodes {
        for column in 0..=row {
            let bent: f64 = (0..nodes).map(|k| bends_of.at(k, row) * inner.at(k, column)).sum();
            let sum = gg.at(row, column) + mixed.at(row, column) + mixed.at(column, row) + bent;
            form.cells[row * nodes + column] = sum;
            form.cells[column * nodes + row] = sum;
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A straight line has no curvature, so that no penalty moves it; outside of the points it continues.
    #[test]
    fn a_line_is_fitted_exactly_and_extended() {
        let points: Vec<(f64, f64)> = (3..40).map(|x| (f64::from(x), 20.0 + 0.5 * f64::from(x))).collect();
        for rho in [-8.0, 2.0, 8.0] {
            let spline = Spline::fit(&points, 7, rho).expect("two points");
            for x in [0.0, 3.0, 17.3, 39.0, 60.0] {
                assert!((spline.at(x) - (20.0 + 0.5 * x)).abs() < 1e-6, "{rho} {x}: {}", spline.at(x));
            }
        }
    }

    /// Without a penalty, as many nodes as points are an interpolation. The natural spline through (0, 0), (1, 1), (2, 0),
    /// (3, 1), by hand: 4 γ1 + γ2 = −12 and γ1 + 4 γ2 = 12, so that γ1 = −4 and γ2 = 4. At 0.5: 1/2 + (1/8 − 1/2)/6 x (−4)
    /// = 0.75; at 1.5: 1/2 + (1/8 − 1/2)/6 x (−4 + 4) = 0.5.
    #[test]
    fn it_interpolates_without_a_penalty() {
        let points = [(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (3.0, 1.0)];
        let spline = Spline::fit(&points, 4, -15.0).expect("four points");
        for (x, y) in points.into_iter().chain([(0.5, 0.75), (1.5, 0.5)]) {
            assert!((spline.at(x) - y).abs() < 1e-6, "{x}: {}", spline.at(x));
        }
    }

    /// Four points at the four nodes, where the basis is the identity: C = 1 / max ∫ B''². With h = 2/3, the function that
    /// is 1 at the second node has 4 γ1 + γ2 = −12/h², γ1 + 4 γ2 = 6/h², thus γ1 = −3.6/h², γ2 = 2.4/h², and ∫ B''² = h/3 (2
    /// γ1² + 2 γ2² + ...) by the form below. The least sum has to be that of `fit`: no step from it lowers it.
    #[test]
    fn it_is_the_minimum_of_the_penalised_squares() {
        let points = [(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (3.0, 1.0)];
        let step = 2.0 / 3.0;
        let integral = |bends: &[f64]| -> f64 {
            bends.windows(2).map(|b| step / 3.0 * (b[0] * b[0] + b[0] * b[1] + b[1] * b[1])).sum()
        };
        let bent = integral(&[0.0, -3.6 / (step * step), 2.4 / (step * step), 0.0]);
        let cost = |values: &[f64]| {
            let squares: f64 =
                values.iter().zip(points).map(|(value, (_, y))| (value - y) * (value - y)).sum();
            squares + 100.0 / bent * integral(&bends(values, step))
        };
        let fitted = Spline::fit(&points, 4, 2.0).expect("four points").values;
        let least = cost(&fitted);
        for node in 0..4 {
            for change in [-1e-3, 1e-3] {
                let mut other = fitted.clone();
                other[node] += change;
                assert!(cost(&other) > least, "{node} {change}");
            }
        }
    }
}
