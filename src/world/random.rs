//! Randomness from the system, in the shapes the product needs.

use std::io;

/// Returns `N` random bytes.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut out = [0; N];
    getrandom::fill(&mut out)?;
    Ok(out)
}

/// Returns `digits` random lowercase hexadecimal digits, as identifiers and nonces use them.
pub fn hex(digits: usize) -> io::Result<String> {
    pick(b"0123456789abcdef", digits)
}

/// Returns `length` characters, each drawn from the ASCII `alphabet` with equal chance.
pub fn pick(alphabet: &[u8], length: usize) -> io::Result<String> {
    debug_assert!(!alphabet.is_empty() && alphabet.is_ascii() && alphabet.len() < 256);
    // Bytes past the last whole multiple would favour the first letters, so they are drawn again.
    let fair = 256 - 256 % alphabet.len();
    let mut out = String::with_capacity(length);
    while out.len() < length {
        for byte in bytes::<32>()?.map(usize::from) {
            if byte < fair && out.len() < length {
                out.push(char::from(alphabet[byte % alphabet.len()]));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_draws_differ() -> io::Result<()> {
        assert_ne!(bytes::<16>()?, bytes::<16>()?);
        assert_ne!(hex(24)?, hex(24)?);
        Ok(())
    }

    #[test]
    fn hex_has_the_length_asked_for() -> io::Result<()> {
        for digits in [0, 1, 24, 32, 33] {
            let text = hex(digits)?;
            assert_eq!(text.len(), digits);
            assert!(text.bytes().all(|b| b"0123456789abcdef".contains(&b)));
        }
        Ok(())
    }

    #[test]
    fn every_letter_comes_about_as_often() -> io::Result<()> {
        let alphabet = b"abcdefghijklmnopqrstuvwxyz23456789";
        let text = pick(alphabet, 34_000)?;
        for letter in alphabet {
            let count = text.bytes().filter(|b| b == letter).count();
            assert!((700..1300).contains(&count), "{letter} came {count} times");
        }
        Ok(())
    }
}
