//! Complex matrices of at most four rows and columns, for the simulation of antennas.

use core::array::from_fn;
use core::ops::{Add, Mul, Sub};

/// Maximum number of antennas on one side.
pub(super) const MAX: usize = 4;

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Complex {
    pub(super) re: f64,
    pub(super) im: f64,
}

impl Complex {
    pub(super) const ONE: Self = Self::new(1.0, 0.0);

    pub(super) const fn new(re: f64, im: f64) -> Self {
        Self { re, im }
    }

    /// e^(j 2π `turns`).
    pub(super) fn turn(turns: f64) -> Self {
        let angle = 2.0 * core::f64::consts::PI * turns;
        Self::new(libm::cos(angle), libm::sin(angle))
    }

    pub(super) const fn conjugate(self) -> Self {
        Self::new(self.re, -self.im)
    }

    pub(super) const fn squared(self) -> f64 {
        self.re * self.re + self.im * self.im
    }

    pub(super) const fn scaled(self, by: f64) -> Self {
        Self::new(self.re * by, self.im * by)
    }
}

impl Add for Complex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Complex {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::new(self.re - other.re, self.im - other.im)
    }
}

impl Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }
}

/// A matrix; places beyond its rows and columns are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Matrix(pub(super) [[Complex; MAX]; MAX]);

impl Matrix {
    pub(super) fn product(&self, other: &Self) -> Self {
        let sum = |row: usize, column: usize| {
            (0..MAX).fold(Complex::default(), |sum, k| sum + self.0[row][k] * other.0[k][column])
        };
        Self(from_fn(|row| from_fn(|column| sum(row, column))))
    }

    pub(super) fn transposed(&self) -> Self {
        Self(from_fn(|row| from_fn(|column| self.0[column][row])))
    }

    /// The conjugate transpose.
    pub(super) fn adjoint(&self) -> Self {
        Self(from_fn(|row| from_fn(|column| self.0[column][row].conjugate())))
    }

    pub(super) fn scaled(&self, by: f64) -> Self {
        Self(self.0.map(|row| row.map(|entry| entry.scaled(by))))
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self(from_fn(|row| from_fn(|column| self.0[row][column] + other.0[row][column])))
    }

    /// The lower triangular `L` with `L Lᵀ` = this real symmetric positive definite matrix of `size`
    /// rows.
    pub(super) fn cholesky(&self, size: usize) -> Self {
        let mut lower = Self::default();
        for row in 0..size {
            for column in 0..=row {
                let known: f64 = (0..column).map(|k| lower.0[row][k].re * lower.0[column][k].re).sum();
                let rest = self.0[row][column].re - known;
                let entry = if row == column { rest.sqrt() } else { rest / lower.0[column][column].re };
                lower.0[row][column] = Complex::new(entry, 0.0);
            }
        }
        lower
    }

    /// The eigenvalues of this Hermitian matrix, the largest first, by Jacobi's rotations.
    pub(super) fn eigenvalues(mut self) -> [f64; MAX] {
        let norm: f64 = self.0.iter().flatten().map(|entry| entry.squared()).sum();
        // Convergence is quadratic: the limit of 20 sweeps is not reached.
        for _ in 0..20 {
            let pairs = (0..MAX).flat_map(|p| (p + 1..MAX).map(move |q| (p, q)));
            let off: f64 = pairs.clone().map(|(p, q)| self.0[p][q].squared()).sum();
            if off <= norm * 1e-24 {
                break;
            }
            pairs.for_each(|(p, q)| self.rotate(p, q));
        }
        let mut values: [f64; MAX] = from_fn(|i| self.0[i][i].re);
        values.sort_unstable_by(|a, b| b.total_cmp(a));
        values
    }

    /// The unitary similarity that makes the entry at (p, q) zero.
    fn rotate(&mut self, p: usize, q: usize) {
        let size = self.0[p][q].squared().sqrt();
        if size == 0.0 {
            return;
        }
        let phase = self.0[p][q].scaled(1.0 / size);
        let tau = (self.0[q][q].re - self.0[p][p].re) / (2.0 * size);
        let tangent = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
        let cos = 1.0 / (1.0 + tangent * tangent).sqrt();
        let sin = tangent * cos;
        for row in &mut self.0 {
            let (a, b) = (row[p], row[q] * phase.conjugate());
            (row[p], row[q]) = (a.scaled(cos) - b.scaled(sin), a.scaled(sin) + b.scaled(cos));
        }
        for column in 0..MAX {
            let (a, b) = (self.0[p][column], self.0[q][column] * phase);
            self.0[p][column] = a.scaled(cos) - b.scaled(sin);
            self.0[q][column] = a.scaled(sin) + b.scaled(cos);
        }
    }

    /// The diagonal of the inverse of this Hermitian positive definite matrix of `size` rows.
    pub(super) fn inverse_diagonal(mut self, size: usize) -> [f64; MAX] {
        let mut inverse = Self::default();
        (0..size).for_each(|i| inverse.0[i][i] = Complex::ONE);
        for pivot in 0..size {
            // The pivots of a Hermitian matrix are real; those of a positive definite one are above zero.
            let scale = 1.0 / self.0[pivot][pivot].re;
            self.0[pivot] = self.0[pivot].map(|entry| entry.scaled(scale));
            inverse.0[pivot] = inverse.0[pivot].map(|entry| entry.scaled(scale));
            for row in (0..size).filter(|&row| row != pivot) {
                let by = self.0[row][pivot];
                for column in 0..size {
                    self.0[row][column] = self.0[row][column] - by * self.0[pivot][column];
                    inverse.0[row][column] = inverse.0[row][column] - by * inverse.0[pivot][column];
                }
            }
        }
        from_fn(|i| inverse.0[i][i].re)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }

    #[test]
    fn eigenvalues_of_a_known_matrix() {
        // [[2, j], [−j, 2]] has the eigenvalues 3 and 1; the other rows are zero.
        let mut m = Matrix::default();
        (m.0[0][0], m.0[1][1]) = (Complex::new(2.0, 0.0), Complex::new(2.0, 0.0));
        (m.0[0][1], m.0[1][0]) = (Complex::new(0.0, 1.0), Complex::new(0.0, -1.0));
        let values = m.eigenvalues();
        [3.0, 1.0, 0.0, 0.0].iter().zip(values).for_each(|(a, b)| close(*a, b));
        // Its inverse is [[2, −j], [j, 2]] / 3.
        let inverse = m.inverse_diagonal(2);
        close(inverse[0], 2.0 / 3.0);
        close(inverse[1], 2.0 / 3.0);
    }

    #[test]
    fn eigenvalues_keep_trace_and_squares() {
        let mut stream = airlane_core::Seeds::new(1).stream("matrix");
        for _ in 0..100 {
            let h = Matrix(from_fn(|_| from_fn(|_| Complex::new(stream.normal(), stream.normal()))));
            let gram = h.adjoint().product(&h);
            let values = gram.eigenvalues();
            let trace: f64 = (0..MAX).map(|i| gram.0[i][i].re).sum();
            let squares: f64 = gram.0.iter().flatten().map(|entry| entry.squared()).sum();
            assert!((values.iter().sum::<f64>() / trace - 1.0).abs() < 1e-12);
            assert!((values.iter().map(|v| v * v).sum::<f64>() / squares - 1.0).abs() < 1e-12);
            assert!(values.windows(2).all(|pair| pair[0] >= pair[1]) && values[3] > 0.0);
        }
    }

    #[test]
    fn a_factor_multiplies_to_its_matrix() {
        let mut m = Matrix::default();
        let entries = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.5], [0.2, 0.5, 1.0]];
        entries.iter().zip(&mut m.0).for_each(|(from, to)| {
            from.iter().zip(to).for_each(|(a, b)| *b = Complex::new(*a, 0.0));
        });
        let lower = m.cholesky(3);
        let back = lower.product(&lower.transposed());
        m.0.iter().flatten().zip(back.0.iter().flatten()).for_each(|(a, b)| close(a.re, b.re));
        assert_eq!(lower.0[0][2], Complex::default());
    }
}
