//! A trained policy: a small neural network that decides for a sender, read from a JSON file.
//! Source: none. Model: x = clamp((observation - mean) / scale, -clip, clip); for each layer x = f(W x + b), with the
//! sum in the order of the inputs; the decision is x in the range of the action, or the number of the largest x for
//! `discrete`.
//! Arithmetic: observations are rounded to 32 bits, as the gym gives them; all else is plain 64-bit arithmetic with
//! `libm`, so decisions are the same on every machine. Cost: one multiplication a weight.

use crate::action::Action;
use crate::fields::{Row, SENDER, position};
use crate::interval::Interval;
use haltere_units::ParamError;
use serde::Deserialize;

/// What a file of this version says in `format`.
const FORMAT: &str = "haltere-policy-1";
/// The most weights of a policy.
const MOST_WEIGHTS: usize = 1 << 22;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    about: String,
    action: String,
    interval: String,
    observations: Vec<String>,
    mean: Vec<f64>,
    scale: Vec<f64>,
    clip: f64,
    layers: Vec<Layer>,
}

/// The function after a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Activation {
    Linear,
    Tanh,
    Relu,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    /// One row an output.
    weights: Vec<Vec<f64>>,
    bias: Vec<f64>,
    activation: Activation,
}

/// A policy that was read and checked.
#[derive(Debug)]
pub struct Policy {
    /// Its name, or empty.
    pub(crate) name: String,
    /// What it does, or empty.
    pub(crate) about: String,
    pub(crate) action: Action,
    pub(crate) interval: Interval,
    columns: Vec<usize>,
    mean: Vec<f64>,
    scale: Vec<f64>,
    clip: f64,
    layers: Vec<Layer>,
}

fn refuse<T>(name: &'static str, rule: impl Into<String>, got: impl core::fmt::Display) -> Result<T, ParamError> {
    Err(ParamError::new(name, rule, got))
}

impl Policy {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Policy, ParamError> {
        let file: File = serde_json::from_str(text).or_else(|error| {
            refuse("policy", "a JSON file as `haltere.gym.Policy.save` writes it", format!("`{error}`"))
        })?;
        if file.format != FORMAT {
            return refuse("format", format!("`{FORMAT}`"), format!("`{}`", file.format));
        }
        let Some(action) = Action::of(&file.action).filter(|action| *action != Action::Probability) else {
            return refuse("action", "an action of a sender", format!("`{}`", file.action));
        };
        let columns = file.observations.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
        let policy = Policy {
            name: file.name,
            about: file.about,
            action,
            interval: Interval::parse(&file.interval)?,
            columns,
            mean: file.mean,
            scale: file.scale,
            clip: file.clip,
            layers: file.layers,
        };
        policy.check()?;
        Ok(policy)
    }
    /// How many observations it takes.
    pub fn inputs(&self) -> usize {
        self.columns.len()
    }
    fn outputs(&self) -> usize {
        let spec = self.action.spec();
        if spec.choices > 0 { spec.choices } else { spec.width }
    }
    fn check(&self) -> Result<(), ParamError> {
        let inputs = self.inputs();
        for (name, values) in [("mean", &self.mean), ("scale", &self.scale)] {
            if values.len() != inputs || inputs == 0 {
                return refuse(name, format!("{} numbers, one an observation, at least one", inputs), values.len());
            }
        }
        let is_size = |number: &f64| *number > 0.0 && number.is_finite();
        if !self.scale.iter().chain([&self.clip]).all(is_size) {
            return refuse("scale", "finite and above 0, as `clip`", "another number");
        }
        let mut width = inputs;
        let mut weights = 0;
        for layer in &self.layers {
            let rows = layer.weights.len();
            if rows == 0 || layer.bias.len() != rows || layer.weights.iter().any(|row| row.len() != width) {
                return refuse("layers", format!("rows of {width} weights, with one bias each"), "another shape");
            }
            let numbers = layer.weights.iter().flatten().chain(&layer.bias);
            if !numbers.into_iter().all(|number| number.is_finite()) {
                return refuse("layers", "finite numbers", "another");
            }
            weights += rows * width;
            width = rows;
        }
        if width != self.outputs() || self.layers.is_empty() {
            return refuse("layers", format!("at least one, and the last with {} outputs", self.outputs()), width);
        }
        if weights > MOST_WEIGHTS {
            return refuse("layers", format!("at most {MOST_WEIGHTS} weights"), weights);
        }
        Ok(())
    }
    /// The decision after that interval.
    pub fn decide(&self, row: &Row) -> Vec<f64> {
        let observed: Vec<f64> = self.columns.iter().map(|&column| f64::from(row.values()[column] as f32)).collect();
        self.act(&observed)
    }
    /// The decision for these observations.
    pub fn act(&self, observed: &[f64]) -> Vec<f64> {
        let normal = |(x, (mean, scale)): (&f64, (&f64, &f64))| ((x - mean) / scale).clamp(-self.clip, self.clip);
        let mut x: Vec<f64> = observed.iter().zip(self.mean.iter().zip(&self.scale)).map(normal).collect();
        for layer in &self.layers {
            x = layer
                .weights
                .iter()
                .zip(&layer.bias)
                .map(|(row, bias)| layer.activation.of(dot(row, &x) + bias))
                .collect();
        }
        let spec = self.action.spec();
        if spec.choices == 0 {
            return x.iter().map(|value| value.clamp(spec.low, spec.high)).collect();
        }
        let mut best = 0;
        for (index, value) in x.iter().enumerate() {
            if *value > x[best] {
                best = index;
            }
        }
        vec![best as f64]
    }
}

/// The sum in the order of the inputs.
fn dot(row: &[f64], x: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (weight, value) in row.iter().zip(x) {
        sum += weight * value;
    }
    sum
}

impl Activation {
    fn of(self, value: f64) -> f64 {
        match self {
            Activation::Linear => value,
            Activation::Tanh => libm::tanh(value),
            Activation::Relu => value.max(0.0),
        }
    }
}

/// The column of an observation that a sender can make by itself.
fn column(name: &str) -> Result<usize, ParamError> {
    match position(SENDER, name) {
        Some(column) if ["window", "scaled"].contains(&SENDER[column].group) => Ok(column),
        _ => refuse("observations", "fields of the groups `window` and `scaled`", format!("`{name}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn file() -> Value {
        json!({
            "format": "haltere-policy-1", "action": "cwnd", "interval": "1rtt", "clip": 5.0,
            "observations": ["rtt_ratio", "loss_share"], "mean": [1.0, 0.0], "scale": [2.0, 0.5],
            "layers": [{ "weights": [[0.5, -1.0]], "bias": [0.25], "activation": "linear" }],
        })
    }
    fn with(path: &str, value: Value) -> Result<Policy, ParamError> {
        let mut file = file();
        *file.pointer_mut(path).unwrap() = value;
        Policy::parse(&file.to_string())
    }

    #[test]
    fn a_layer_computes_what_it_does_by_hand() {
        let policy = Policy::parse(&file().to_string()).unwrap();
        // x = (3 - 1) / 2 = 1 and 0.25 / 0.5 = 0.5: 0.5 - 0.5 + 0.25.
        assert_eq!(policy.act(&[3.0, 0.25]), [0.25]);
        assert_eq!(policy.act(&[1e9, 0.0]), [1.0], "clipped at 5, then the action's range");
        let tanh = with("/layers/0/activation", json!("tanh")).unwrap();
        assert_eq!(tanh.act(&[3.0, 0.25]), [libm::tanh(0.25)]);
    }
    #[test]
    fn a_file_with_a_wrong_shape_or_number_is_refused() {
        for (path, value) in [
            ("/format", json!("x")),
            ("/action", json!("probability")),
            ("/interval", json!("0ms")),
            ("/observations", json!(["rtt_ratio", "capacity"])),
            ("/mean", json!([1.0])),
            ("/scale", json!([1.0, 0.0])),
            ("/clip", json!(-1.0)),
            ("/layers", json!([])),
            ("/layers/0/weights", json!([[1.0]])),
            ("/layers/0/bias", json!([1.0, 2.0])),
            ("/layers/0/activation", json!("sine")),
        ] {
            assert!(with(path, value).is_err(), "{path}");
        }
    }
}
