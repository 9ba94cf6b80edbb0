// The same as chain.c, in Rust.
mod links {
    use std::hint::black_box;

    pub struct Link;

    impl Link {
        #[inline(never)]
        pub fn spin(&self) {
            let mut turns = 0u64;
            loop {
                turns = black_box(turns) + 1;
            }
        }

        #[inline(never)]
        pub fn sleep(&self) {
            loop {
                std::thread::sleep(std::time::Duration::from_secs(1000));
                black_box(());
            }
        }

        #[inline(never)]
        pub fn leaf(&self, sleeps: i32) {
            if sleeps != 0 {
                self.sleep();
            } else {
                self.spin();
            }
            black_box(());
        }
    }

    #[inline(never)]
    pub fn middle(function: extern "C" fn()) {
        function();
        black_box(());
    }
}

#[no_mangle]
pub extern "C" fn chain_leaf(sleeps: i32) {
    links::Link.leaf(sleeps);
    std::hint::black_box(());
}

#[no_mangle]
pub extern "C" fn chain_outer(function: extern "C" fn()) {
    links::middle(function);
    std::hint::black_box(());
}
